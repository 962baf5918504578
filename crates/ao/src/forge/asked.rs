//! What is worth asking about. A set and not a queue: a hundred hints at one pull request are one question.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ao_ports::{Hint, Hints};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Held for a few instructions only. No larger than what there is.
    hints: Mutex<BTreeSet<Hint>>,
    some: Notify,
}

impl Asked {
    /// Waits until there is something, and takes all of it.
    pub(super) async fn take(&self) -> BTreeSet<Hint> {
        loop {
            let hinted = self.some.notified();
            let taken = std::mem::take(&mut *self.hints.lock().unwrap_or_else(PoisonError::into_inner));
            if !taken.is_empty() {
                return taken;
            }
            hinted.await;
        }
    }
}

impl Hints for Asked {
    fn hint(&self, hint: Hint) {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner).insert(hint);
        self.some.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use ao_core::ProjectId;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_hints_at_one_thing_are_one_question() {
        let asked = Asked::default();
        let hint = || Hint::Project(ProjectId::new("app"));
        for _ in 0..100 {
            asked.hint(hint());
        }
        assert_eq!(asked.take().await, BTreeSet::from([hint()]));
        let nothing = tokio::time::timeout(std::time::Duration::from_secs(60), asked.take()).await;
        assert!(nothing.is_err(), "there is nothing more to ask");
        asked.hint(hint());
        assert_eq!(asked.take().await.len(), 1);
    }
}
