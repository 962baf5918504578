//! Worktrees of the user's own repository, in `<repository>/.worktrees/<name>`.
//!
//! ```text
//!  intent ──► git worktree add ──► identity ──► marker          (made)
//!  facts ──► gate ──► rescue ref ──► git worktree remove ──► branch, if the rescue ref keeps it   (removed)
//! ```
//!
//! A worktree is ours if our marker lies in its git directory, where no agent or build looks and which git removes along
//! with it. A folder without one belongs to somebody else, wherever it is, and is left alone.

mod create;
mod error;
mod facts;
mod marker;
mod place;
mod processes;
mod remove;
mod repository;
mod worktrees;

pub use worktrees::Worktrees;
