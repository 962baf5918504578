//! What can be set for all workspaces.

use std::sync::Arc;
use std::time::Duration;

use ao_git::Queues;

use crate::provision;

/// What can be set for all workspaces of one kind.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether the base branch is fetched from `origin` before a tree is made from it.
    pub fetch: bool,
    /// How long what was fetched counts as fresh. All trees of a burst start from one fetch.
    pub fetch_every: Duration,
    /// After this long, a remote that does not answer is given up, and what is there is used.
    pub fetch_timeout: Duration,
    /// How long all submodules of a tree may take together: some are large, and come over the network.
    pub submodule_timeout: Duration,
    /// How trees are filled and set up. Without it, only plans that ask for nothing of the kind can be met.
    pub provision: Option<provision::Options>,
    /// Git settings that hold for every call of ours, as `git -c` would give them.
    pub settings: Vec<(String, String)>,
    /// Where whoever changes a repository waits for its turn. The same for all who change the same repositories.
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
            settings: vec![],
            queues: Arc::default(),
        }
    }
}
