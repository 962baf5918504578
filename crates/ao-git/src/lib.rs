//! The `git` program, for every slot that needs it: how it is called, one change at a time in each repository, and what its
//! files tell without a process.
//!
//! Nothing here knows what a worktree or a pull request is for; that is the business of the slots.

mod base;
mod environment;
pub mod forecast;
mod git;
mod guard;
pub mod half_made;
mod isolated;
mod process;
mod queue;
pub mod refs;
mod surroundings;
mod upkeep;

pub use base::Whose;
pub use git::{Git, GitError, MISLEADING, Settings, command};
pub use guard::{Setting, approve, is_of_a_tree};
pub use isolated::ScratchGuard;
pub use queue::{Queues, Turn};
pub use surroundings::Surroundings;
pub use upkeep::{Upkeep, upkeep};
