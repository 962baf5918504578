//! One change at a time in each repository, and in each tree. Git's own locks make the second one fail; here it waits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

/// One's turn in a queue, until it is dropped.
pub type Turn = OwnedMutexGuard<()>;

/// A queue for each repository, by its common git directory, so that all its worktrees share it; and one for each tree,
/// by its place.
#[derive(Debug, Default)]
pub struct Queues {
    /// Held only to look one up.
    queues: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

impl Queues {
    /// Waits for one's turn; the turn ends when the guard is dropped.
    pub async fn turn(&self, place: &Path) -> Turn {
        let queue = {
            let mut queues = self.queues.lock().expect("nobody panics while looking one up");
            // Trees come and go, so those that nobody stands in are forgotten.
            queues.retain(|_, queue| Arc::strong_count(queue) > 1);
            queues.entry(place.to_owned()).or_default().clone()
        };
        queue.lock_owned().await
    }
}
