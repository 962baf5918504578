//! Looks that are due. A set and not a queue: a hundred hints at one pull request are one look.
//!
//! A look that failed comes back later, and less and less often; not before the time that its service has named, if it is
//! limited.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ao_ports::{HintReceiver, LookHint};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The first and the longest pause before a failed look is repeated.
const FIRST: Duration = Duration::from_secs(5);
const MOST: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Default)]
pub(crate) struct PendingLooks {
    /// Held for a few instructions only.
    open: Mutex<DueLooks>,
    some: Notify,
}

/// No larger than what there is to ask about.
#[derive(Debug, Default)]
struct DueLooks {
    now: BTreeSet<LookHint>,
    later: BTreeMap<LookHint, RetryTime>,
}

#[derive(Debug, Clone, Copy)]
struct RetryTime {
    at: Instant,
    wait: Duration,
}

impl PendingLooks {
    /// Waits until there is something, and takes all of it.
    pub(crate) async fn take(&self) -> BTreeSet<LookHint> {
        loop {
            let hinted = self.some.notified();
            let due = {
                let mut open = self.open();
                let taken = open.due(Instant::now());
                if !taken.is_empty() {
                    return taken;
                }
                open.later.values().map(|later| later.at).min()
            };
            match due {
                Some(at) => tokio::select! {
                    () = hinted => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => hinted.await,
            }
        }
    }

    /// Schedules a failed look again, later: after the time of a limit, or else less and less often.
    pub(crate) fn again(&self, hint: LookHint, limit: Option<Duration>) {
        let mut open = self.open();
        let known = open.later.get(&hint).map(|later| later.wait);
        let wait = match limit {
            Some(_) => known.unwrap_or(FIRST),
            None => known.map_or(FIRST, |known| (known * 2).min(MOST)),
        };
        open.later.insert(hint, RetryTime { at: Instant::now() + limit.unwrap_or(wait), wait });
        drop(open);
        self.some.notify_one();
    }

    /// Forgets the failures of a look: it succeeded, or there is no forge to ask.
    pub(crate) fn answered(&self, hint: &LookHint) {
        self.open().later.remove(hint);
    }

    fn open(&self) -> MutexGuard<'_, DueLooks> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DueLooks {
    /// Takes what is to be asked now. What has waited stays known, so that its next wait is longer.
    fn due(&mut self, now: Instant) -> BTreeSet<LookHint> {
        let mut taken = std::mem::take(&mut self.now);
        for (hint, later) in self.later.iter_mut().filter(|(_, later)| later.at <= now) {
            taken.insert(hint.clone());
            // Not before the result of this look is known.
            later.at = now + MOST;
        }
        taken
    }
}

impl HintReceiver for PendingLooks {
    fn hint(&self, hint: LookHint) {
        self.open().now.insert(hint);
        self.some.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use ao_core::ProjectId;
    use tokio::time::timeout;

    use super::*;

    fn hint() -> LookHint {
        LookHint::Project(ProjectId::new("app"))
    }

    #[tokio::test(start_paused = true)]
    async fn many_hints_at_one_thing_are_one_question() {
        let asked = PendingLooks::default();
        for _ in 0..100 {
            asked.hint(hint());
        }
        assert_eq!(asked.take().await, BTreeSet::from([hint()]));
        let nothing = timeout(Duration::from_secs(60), asked.take()).await;
        assert!(nothing.is_err(), "there is nothing more to ask");
        asked.hint(hint());
        assert_eq!(asked.take().await.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_gets_no_answer_is_asked_less_and_less_often() {
        let asked = PendingLooks::default();
        asked.hint(hint());
        let mut waits = Vec::new();
        for _ in 0..9 {
            let began = Instant::now();
            assert_eq!(asked.take().await.len(), 1);
            waits.push(began.elapsed().as_secs());
            asked.again(hint(), None);
        }
        assert_eq!(waits, [0, 5, 10, 20, 40, 80, 160, 300, 300]);
        asked.answered(&hint());
        assert!(timeout(Duration::from_secs(3600), asked.take()).await.is_err());
        asked.again(hint(), None);
        let began = Instant::now();
        asked.take().await;
        assert_eq!(began.elapsed().as_secs(), 5, "it begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limited_look_comes_back_at_the_time_that_its_service_has_named() {
        let asked = PendingLooks::default();
        for (limit, waits) in [(Some(900), 900), (Some(2), 2), (None, 10)] {
            asked.again(hint(), limit.map(Duration::from_secs));
            let began = Instant::now();
            assert_eq!(asked.take().await, BTreeSet::from([hint()]));
            assert_eq!(began.elapsed().as_secs(), waits);
        }
    }
}
