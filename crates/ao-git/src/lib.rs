//! The `git` program, for every slot that needs it: how it is called, one change at a time in each repository, and what its
//! files tell without a process.
//!
//! Nothing here knows what a worktree or a pull request is for; that is the business of the slots.

mod base;
pub mod forecast;
mod git;
pub mod half_made;
mod process;
mod queue;
pub mod refs;

pub use base::Whose;
pub use git::{Git, GitError, MISLEADING, Settings};
pub use queue::{Queues, Turn};
