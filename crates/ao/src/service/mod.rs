//! The daemon as a service of the user's login: systemd on Linux, launchd on a Mac.
//!
//! What is written is made by pure functions, so that it can be looked at in tests; what is asked of the service manager is
//! asked by its own program. Nothing here needs root.

pub mod launchd;
pub(crate) mod manager;
pub mod systemd;

use camino::Utf8PathBuf;

/// What a service has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// This program.
    pub program: Utf8PathBuf,
    pub data_dir: Utf8PathBuf,
    /// Where agents and their tools are found. A login's own services know only the system's folders.
    pub path: String,
}

/// The first line of what we write, by which it is known to be ours.
pub(crate) const MARK: &str = "Written by `ao service install`";
