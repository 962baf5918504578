//! Reports of agents by hooks: `ao hook` writes a file into a folder, and the daemon reads it from there.
//!
//! ```text
//!  agent ──runs──► ao hook ──writes, renames──► spool/new/<time>-… ──inotify────► Spool ──► Report
//!                  (JSON on stdin, or as its argument)  │                             │
//!                                     stays while no daemon runs          removed once the report is durable
//! ```
//!
//! A folder and not a socket, because one path is enough and this one also works while the daemon is down. Each file
//! has a token that only the agent of that session and attempt was given; files without a valid one are dropped.

mod event;
mod folder;
mod history;
mod key;
mod leave;
mod spool;
mod watch;

pub use event::{EventMeaning, ToolDenial, understand};
pub use history::HookHistory;
pub use key::KeyError;
pub use leave::{LeaveError, Place, leave};
pub use spool::{Spool, SpoolError};

/// The variable with the token, which proves that a report, or an API call, comes from that agent.
pub const TOKEN: &str = "AO_TOKEN";
/// The variable with the spool folder.
pub const SPOOL: &str = "AO_SPOOL";

/// Most bytes of a payload. No message of ours is nearly as long.
pub(crate) const PAYLOAD_MOST: usize = 1024 * 1024;
/// The folder for unfinished files.
const UNFINISHED: &str = "tmp";
/// The folder for finished files that wait to be read.
const WAITING: &str = "new";
