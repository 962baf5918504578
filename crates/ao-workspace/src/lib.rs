//! Where agents work, through the `git` program.
//!
//! [`Worktrees`] gives each session a folder and a branch of its own in the user's repository, and takes them away again
//! only through the one gate of [`ao_core::workspace::reasons_to_keep`].
//!
//! ```text
//!  create, remove ──► one queue per repository ──► git (argv, no shell)
//!  inspect ─────────────────────────────────────► git --no-optional-locks
//! ```
//!
//! A new workspace is filled and set up by [`provision`], whatever its kind.
//!
//! Not here: anything that talks to a remote.

mod git;
pub mod provision;
mod queue;
pub mod worktree;

pub use git::MISLEADING;
pub use worktree::Worktrees;
