//! Telling whose process it is that calls the daemon.
//!
//! Not a slot, and the one port that knows of pids: it is about programs on the daemon's own machine, which call it there.

use ao_core::{Attempt, SessionId};

/// Tells which of our agents a process on this machine descends from.
pub trait Lineage: Send + Sync {
    /// Reads what the system knows of a process now. It reads files of the kernel's, so it is called where one may wait.
    fn descent(&self, pid: i32) -> Descent;
}

/// Where a process comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    /// From none of our agents, and from no command that the daemon runs without a person's word.
    Apart,
    /// From an agent, by whatever way.
    Agent { session: SessionId, attempt: Attempt },
    /// From a command that the daemon runs and that may run a repository's code: a check, a set-up, git.
    Command,
    /// It has gone, or changed while it was looked at.
    Unknown,
}
