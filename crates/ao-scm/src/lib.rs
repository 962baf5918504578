//! The local forge, its check runner, and the parser for failed checks.
//!
//! ```text
//!  local/    pull requests, threads and reviews on any git repository, stored in the daemon's own file
//!  checks/   commands run in a clean checkout of the merge result, each tree once
//!  failure/  parses the output of a failed check: failed tests, locations, and a signature
//! ```

pub mod checks;
mod error_chain;
pub mod failure;
pub mod local;
