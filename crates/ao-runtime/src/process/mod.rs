//! Processes on this host that outlive the daemon, each on a terminal, on pipes or without input, and each held by a
//! small process: its shim.
//!
//! ```text
//!  <state>/<session>/<attempt>/
//!     begun        before anything is started
//!     start.lock   held by a shim while it starts something
//!     lock         held by a shim for as long as it lives
//!     holder       the shim's pid and start time
//!     record       the program's, by which it is found again and never mistaken for another
//!     socket       where the shim listens
//!     output/      what the program has put out, by offset
//!     log/         stdout and stderr together, if the program is on pipes
//!     exit         how and when the program ended
//!     left         the shim has gone, because nothing was left to hold
//!     ended        it is to be, or has been, ended for good
//! ```
//!
//! [`shim`] is the holder, a process of its own. Everything else here is the daemon's part: it starts shims, listens to
//! them ([`link`]), reads the files, and determines the state by itself when a shim is gone.
//!
//! It needs Linux: the processes of a session are found below its shim, or else in `/proc` by the `AO_SESSION` and
//! `AO_ATTEMPT` that they inherit; ends are awaited with pidfds, which cannot refer to another process.

mod attach;
mod attempt_dir;
mod connection;
mod end;
mod life;
mod link;
mod output;
mod processes;
mod protocol;
mod requests;
pub mod shim;
mod start;
mod view;

pub use attach::Attachment;
pub use processes::{Options, Processes, Shim};
