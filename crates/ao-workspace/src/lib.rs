//! Creates and removes the folders that agents work in, through the `git` program.
//!
//! [`Worktrees`] gives each session its own folder and branch in the user's repository, [`Clones`] its own repository;
//! both remove them only through the one gate of [`ao_core::workspace::reasons_to_keep`].
//!
//! ```text
//!  create, remove ──► one queue per repository ──► git (argv, no shell)
//!        files of new trees ──► beside each other ──► git, in a tree that is shown to be ours
//!  inspect, survey ─────────────────────────────► git --no-optional-locks
//!  whereabouts ─────────────────────────────────► git's files
//! ```
//!
//! A new workspace of either kind is filled and set up by [`provision`].

mod capture;
mod checkout;
mod clean;
pub mod clone;
mod config;
mod error;
mod fetch;
mod gate;
mod git_workspaces;
mod judged;
mod marker;
mod options;
mod own_tree;
pub mod provision;
mod read_only;
mod rebase;
mod repository;
mod rescue;
mod size;
mod start;
mod whereabouts;
pub mod worktree;

pub use clone::Clones;
pub use git_workspaces::GitTrees;
pub use options::Options;
pub use worktree::Worktrees;
