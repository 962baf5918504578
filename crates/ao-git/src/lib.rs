//! Runs the `git` program for all adapters: one change at a time in each repository, and reads git's files where that
//! saves a process.
//!
//! Nothing here knows what a worktree or a pull request is for; the adapters do.

mod base;
mod environment;
mod fingerprint;
pub mod forecast;
mod git;
mod guard;
pub mod half_made;
mod isolated;
mod process;
mod queue;
pub mod refs;
mod upkeep;

pub use base::{FileContent, TipSource};
pub use fingerprint::ConfigFingerprint;
pub use git::{Git, GitError, MISLEADING, Settings, command};
pub use guard::{Setting, approve, is_of_a_tree};
pub use isolated::ScratchGuard;
pub use queue::{QueueTurn, Queues};
pub use upkeep::{Upkeep, upkeep};
