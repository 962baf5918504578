//! Worktrees of the user's own repository, in `<repository>/.worktrees/<name>`.
//!
//! ```text
//!  intent ──► git worktree add ──► identity ──► files ──► marker          (made)
//!  facts ──► gate ──► rescue ref ──► git worktree remove ──► branch, if the rescue ref keeps it   (removed)
//! ```
//!
//! A worktree is ours if our marker lies in its git directory, where no agent or build looks and which git removes along
//! with it. A folder without one belongs to somebody else, wherever it is, and is left alone.

mod adopt;
mod create;
pub(crate) mod place;
mod rebase;
mod remove;
mod removing;
mod subject;
mod survey;
mod worktrees;

pub use rebase::{RebaseOrder, Rebased};
pub use worktrees::Worktrees;
