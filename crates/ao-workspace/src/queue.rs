//! One change at a time in each repository. Git's own locks make the second one fail; here it waits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

/// A queue for each repository, by its common git directory, so that all its worktrees share it.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    /// Held only to look one up. Grows with the number of repositories, which a person sets up one by one.
    queues: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

impl Queues {
    /// Waits for one's turn; the turn ends when the guard is dropped.
    pub(crate) async fn turn(&self, common_dir: &Path) -> OwnedMutexGuard<()> {
        let queue = {
            let mut queues = self.queues.lock().expect("nobody panics while looking one up");
            queues.entry(common_dir.to_owned()).or_default().clone()
        };
        queue.lock_owned().await
    }
}
