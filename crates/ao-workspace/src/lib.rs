//! Where agents work, through the `git` program.
//!
//! [`Worktrees`] gives each session a folder and a branch of its own in the user's repository, [`Clones`] a repository of
//! its own; both take them away again only through the one gate of [`ao_core::workspace::reasons_to_keep`].
//!
//! ```text
//!  create, remove ──► one queue per repository ──► git (argv, no shell)
//!        files of new trees ──► beside each other ──► git, in a tree that is shown to be ours
//!  inspect, survey ─────────────────────────────► git --no-optional-locks
//!  whereabouts ─────────────────────────────────► git's files
//! ```
//!
//! A new workspace is filled and set up by [`provision`], whatever its kind.

mod capture;
mod checkout;
mod clean;
pub mod clone;
mod closed;
mod config;
mod error;
mod fetch;
mod gate;
mod marker;
mod options;
mod own;
pub mod provision;
mod repository;
mod rescue;
mod shop;
mod size;
mod start;
mod whereabouts;
pub mod worktree;

pub use clone::Clones;
pub use options::Options;
pub use worktree::Worktrees;
