//! The daemon as a service of the user's login: systemd on Linux, launchd on macOS.
//!
//! Pure functions render the files, so that tests can check them; the service manager's own program does the rest.
//! Nothing here needs root.

pub mod launchd;
pub(crate) mod manager;
pub mod systemd;

use camino::Utf8PathBuf;

/// The parameters of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDefinition {
    /// This program.
    pub program: Utf8PathBuf,
    pub data_dir: Utf8PathBuf,
    /// `PATH`, to find agents and their tools. A login's services only know the system's folders.
    pub path: String,
}

/// Variables that make the allocator of glibc return memory. By default it keeps what a thread needed at its busiest, for each
/// thread apart, and a daemon mostly rests.
pub(crate) const ALLOCATOR_SETTINGS: [(&str, &str); 2] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// The first line of our files, by which they are recognised.
pub(crate) const MARK: &str = "Written by `ao service install`";
