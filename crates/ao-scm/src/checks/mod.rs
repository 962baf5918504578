//! Checks: commands run in a clean checkout of the merge result, each tree once.
//!
//! ```text
//!  CheckJob ─► runner ─► the same result stored? ────────────────► taken over (`same_as`)
//!                │       the same run live? ──────────────────────► joined
//!                └─► execution: a slot ─► tree (a worktree) ─► command ─► log ─► verdict
//!                                                                 │
//!                         recorded, then published ◄──────────────┘
//!                         then: leftovers ended ─► tree removed ─► slot freed ─► old runs and logs deleted
//! ```
//!
//! A result is valid for a tree, a command and an environment; two pull requests that would land the same tree share
//! it. A result is recorded before it is published.
//!
//! The caller decides which change to check and what to merge it onto: a job names the commit to check out. Nothing
//! here looks at a forge, and nothing runs without a job; [`propose`] only proposes.

mod command;
mod detect;
mod error;
mod execution;
mod leftovers;
mod live;
mod log;
mod options;
mod paths;
mod placement;
mod retention;
mod run_records;
mod runner;
mod submodules;
mod tree;
mod verdict;

pub use detect::{ProposedCheck, propose};
pub use error::RunnerError;
pub use options::{CheckJob, Options};
pub use runner::Runner;
