//! Identifies the process that calls the daemon.
//!
//! Not a slot, and the one port that knows pids: it is about programs on the daemon's own machine, which call it
//! there.

use ao_core::{Attempt, SessionId};

/// Determines which of our agents a process on this machine descends from.
pub trait Lineage: Send + Sync {
    /// Returns the descent of a process from what the system knows now. Reads files of the kernel, so callers must be
    /// allowed to block.
    fn descent(&self, pid: i32) -> Descent;
}

/// The origin of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    /// Neither an agent of ours, nor a command that the daemon runs without a person's request.
    Apart,
    /// A direct or indirect descendant of an agent.
    Agent { session: SessionId, attempt: Attempt },
    /// A descendant of a command that the daemon runs and that may run a repository's code: a check, a set-up, git.
    Command,
    /// It has gone, or changed during the look.
    Unknown,
}
