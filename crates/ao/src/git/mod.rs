//! Git as the command line needs it: clones, addresses, and the branch of the current folder.

pub(crate) mod branch_proposal;
pub mod clone;

pub use ao_daemon::git_url as url;
