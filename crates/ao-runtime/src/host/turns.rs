//! Serializes operations on an attempt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

use super::AttemptKey;

/// The queues for turns. Only attempts with a current operation have one.
#[derive(Default)]
pub(crate) struct AttemptTurns {
    /// Locked only to look one up or to release one.
    open: Mutex<HashMap<AttemptKey, Arc<tokio::sync::Mutex<()>>>>,
}

/// A turn, or a place in the queue for it. Ends when it is dropped.
pub(crate) struct AttemptTurn<'a> {
    turns: &'a AttemptTurns,
    key: AttemptKey,
    /// Absent while waiting.
    held: Option<OwnedMutexGuard<()>>,
}

impl AttemptTurns {
    pub(crate) async fn take(&self, key: AttemptKey) -> AttemptTurn<'_> {
        let turn =
            self.open.lock().expect("no thread panics while looking one up").entry(key).or_default().clone();
        // Created before the wait, so that a caller who stops waiting leaves nothing behind either.
        let mut mine = AttemptTurn { turns: self, key, held: None };
        mine.held = Some(turn.lock_owned().await);
        mine
    }
}

impl Drop for AttemptTurn<'_> {
    fn drop(&mut self) {
        let mut open = self.turns.open.lock().expect("no thread panics while letting one go");
        self.held = None;
        // Each waiting or active turn counts one, and the map counts one.
        if open.get(&self.key).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            open.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use ao_core::{Attempt, SessionId};
    use futures::FutureExt;

    use super::*;

    const KEY: AttemptKey = (SessionId(1), Attempt(1));

    #[tokio::test]
    async fn no_queue_is_left_without_turns() {
        let turns = AttemptTurns::default();
        let known = || turns.open.lock().unwrap().len();
        let first = turns.take(KEY).await;
        let other = turns.take((SessionId(1), Attempt(2))).await;
        assert_eq!(known(), 2);
        drop(other);
        assert_eq!(known(), 1);
        assert!(turns.take(KEY).now_or_never().is_none(), "it is taken, and this one gives up");
        assert_eq!(known(), 1);
        let mut second = Box::pin(turns.take(KEY));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(turns.take(KEY).now_or_never().is_none(), "who has waited comes first");
        drop(second.await);
        assert_eq!(known(), 0);
    }

    #[tokio::test]
    async fn a_cancelled_wait_leaves_no_queue() {
        let turns = AttemptTurns::default();
        let first = turns.take(KEY).await;
        let mut second = Box::pin(turns.take(KEY));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        drop(second);
        assert!(turns.open.lock().unwrap().is_empty());
    }
}
