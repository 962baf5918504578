//! Checks: commands run in a clean checkout of what would land, each tree once.
//!
//! ```text
//!  Job ─► runner ─► the same result on the shelf? ──────────────► taken over (`same_as`)
//!           │       the same run under way? ────────────────────► joined
//!           └─► execution: a slot ─► tree (a worktree) ─► command ─► log ─► verdict
//!                                                            │
//!                    recorded, then told ◄───────────────────┘
//!                    then: leftovers ended ─► tree removed ─► slot freed ─► old runs and logs forgotten
//! ```
//!
//! What a result speaks of is a tree, a command and an environment; two pull requests that would land the same tree have
//! the same result. A result is recorded before anybody hears of it.
//!
//! Whose change it is, and what has to be merged onto what, is for the caller to know: a job names the commit to check
//! out. Nothing here looks at a forge, and nothing is run that no job asks for; [`propose`] only proposes.

mod book;
mod command;
mod detect;
mod error;
mod execution;
mod keep;
mod leftovers;
mod live;
mod log;
mod options;
mod paths;
mod place;
mod runner;
mod submodules;
mod tree;
mod verdict;

pub use detect::{Proposed, propose};
pub use error::RunnerError;
pub use options::{Job, Options};
pub use runner::Runner;
