//! Settings of all workspaces.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ao_git::Queues;

use crate::provision;

/// Settings of all workspaces of one kind.
#[derive(Debug, Clone)]
pub struct Options {
    /// Fetch the base branch from `origin` before a tree is created from it.
    pub fetch: bool,
    /// Time for which a fetch counts as fresh. All trees of a burst start from one fetch.
    pub fetch_every: Duration,
    /// Time after which an unresponsive remote is given up, and the local state is used.
    pub fetch_timeout: Duration,
    /// Time limit for all submodules of a tree together: some are large, and come over the network.
    pub submodule_timeout: Duration,
    /// Settings for filling and setting up trees. Without them, only plans that need neither can be carried out.
    pub provision: Option<provision::Options>,
    /// The folder for temporary objects of captures; the system's own if absent.
    pub scratch: Option<PathBuf>,
    /// Git settings for each of our calls, as by `git -c`.
    pub settings: Vec<(String, String)>,
    /// The queues for changes of a repository. Shared by all who change the same repositories.
    pub queues: Arc<Queues>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fetch: true,
            fetch_every: Duration::from_secs(15),
            fetch_timeout: Duration::from_secs(30),
            submodule_timeout: Duration::from_secs(30 * 60),
            provision: None,
            scratch: None,
            settings: vec![],
            queues: Arc::default(),
        }
    }
}
