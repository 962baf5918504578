//! Worktrees of the user's own repository, in `<repository>/.worktrees/<name>`.
//!
//! ```text
//!  intent ──► git worktree add ──► identity ──► files ──► marker          (made)
//!  facts ──► gate ──► rescue ref ──► git worktree remove ──► branch, if the rescue ref keeps it   (removed)
//! ```
//!
//! A worktree is ours if our marker is in its git directory, where no agent or build looks and which git removes along
//! with it. A folder without one belongs to someone else, wherever it is, and is left alone.

mod adopt;
mod create;
pub(crate) mod paths;
mod remove;
mod survey;
mod undo_removal;
mod worktrees;

pub use worktrees::{WorktreeLayout, Worktrees};
