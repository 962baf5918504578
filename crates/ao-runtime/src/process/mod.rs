//! Processes on this host, on pipes, that outlive the daemon.
//!
//! ```text
//!  <state>/<session>/<attempt>/
//!     begun        before anything is started
//!     stdin        a named pipe that the process itself holds open, so that no daemon's end closes it
//!     output.log   stdout, written by the process itself and read by offset
//!     errors.log   stderr
//!     record       pid and start time, by which it is found again and never mistaken for another
//!     exit         its code, if a daemon was there to see it
//!     ended        it is to be, or has been, ended for good
//! ```
//!
//! There is nobody between the daemon and the process. That keeps it small, and costs two things, which a holder of its
//! own would mend: the exit code is lost if no daemon of ours is there to see it, and the log grows as long as the process
//! writes.
//!
//! It needs Linux: what belongs to a session is found in `/proc` by the `AO_SESSION` and `AO_ATTEMPT` that its processes
//! inherit, even if they have left the group; ends are waited for with pidfds, which cannot hit a stranger; and output is
//! waited for with inotify, as nobody of ours stands where it passes.

mod end;
mod life;
mod output;
mod pipe;
mod place;
mod processes;
mod start;
mod watch;

pub use processes::{Options, Processes};
