//! One thing at a time is done to an attempt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

use super::Key;

/// Who has, and who waits for, a turn. Knows only of those attempts that something is done to just now.
#[derive(Default)]
pub(crate) struct Turns {
    /// Held only to look one up or to let one go.
    open: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
}

/// Somebody's turn, or their waiting for it. Over when it is dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    key: Key,
    /// Absent while it is waited for.
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    pub(crate) async fn take(&self, key: Key) -> Turn<'_> {
        let turn =
            self.open.lock().expect("nobody panics while looking one up").entry(key).or_default().clone();
        // Made before the waiting, so that one who gives up waiting leaves nothing behind either.
        let mut mine = Turn { turns: self, key, held: None };
        mine.held = Some(turn.lock_owned().await);
        mine
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut open = self.turns.open.lock().expect("nobody panics while letting one go");
        self.held = None;
        // Each who waits or has the turn counts one, and the map counts one.
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

    const KEY: Key = (SessionId(1), Attempt(1));

    #[tokio::test]
    async fn nothing_is_left_when_nobody_has_a_turn() {
        let turns = Turns::default();
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
    async fn one_who_gives_up_last_leaves_nothing() {
        let turns = Turns::default();
        let first = turns.take(KEY).await;
        let mut second = Box::pin(turns.take(KEY));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        drop(second);
        assert!(turns.open.lock().unwrap().is_empty());
    }
}
