//! What agents tell by running a hook: `ao hook` leaves a file in a folder, and the daemon reads it from there.
//!
//! ```text
//!  agent ──runs──► ao hook ──writes, renames──► spool/new/<time>-… ──inotify────► Spool ──► Report
//!                  (JSON on stdin, or as its argument)  │                             │
//!                                     stays while no daemon runs          removed once the report is durable
//! ```
//!
//! A folder and not a socket, because one path is enough and this one also works while the daemon is down. Each file
//! carries a token that only the agent of that session and attempt was given; what has none, or another's, is dropped.

mod event;
mod folder;
mod history;
mod key;
mod leave;
mod spool;
mod watch;

pub use event::{Denial, Told, understand};
pub use history::History;
pub use key::KeyError;
pub use leave::{LeaveError, Place, leave};
pub use spool::{Spool, SpoolError};

/// Proves that a report, or a call to the daemon, comes from the agent that was given it.
pub const TOKEN: &str = "AO_TOKEN";
/// The folder that reports are left in.
pub const SPOOL: &str = "AO_SPOOL";

/// The most that is read of what an agent tells a hook. No message of ours is nearly as long.
pub(crate) const PAYLOAD_MOST: usize = 1024 * 1024;
/// Where files are written before they are whole.
const UNFINISHED: &str = "tmp";
/// Where whole ones wait to be read.
const WAITING: &str = "new";
