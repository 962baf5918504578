//! Serializes changes in each repository, and in each tree. With git's own locks the second change would fail; here it
//! waits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

/// A turn in a queue, which ends when it is dropped.
pub type QueueTurn = OwnedMutexGuard<()>;

/// A queue for each repository, by its common git directory, so that all its worktrees share it; and one for each tree,
/// by its path.
#[derive(Debug, Default)]
pub struct Queues {
    /// Locked only to look one up.
    queues: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

impl Queues {
    /// Waits for a turn, which ends when the guard is dropped.
    pub async fn turn(&self, place: &Path) -> QueueTurn {
        let queue = {
            let mut queues = self.queues.lock().expect("no thread panics while looking one up");
            // Trees come and go, so unused queues are removed.
            queues.retain(|_, queue| Arc::strong_count(queue) > 1);
            queues.entry(place.to_owned()).or_default().clone()
        };
        queue.lock_owned().await
    }
}
