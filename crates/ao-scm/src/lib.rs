//! Where changes are reviewed, checked and merged.
//!
//! ```text
//!  local/    pull requests, threads and reviews on any git repository, kept in the daemon's own file
//!  checks/   commands run in a clean checkout of what would land, each tree once
//!  failure/  what the output of a failed check says: which tests, where, and a signature
//! ```

pub mod checks;
pub mod failure;
pub mod local;
mod told;
