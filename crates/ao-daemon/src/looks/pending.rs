//! Looks that are due. A set and not a queue: a hundred hints at one pull request are one look.
//!
//! A look that failed comes back later, and less and less often. A project whose service has named a time at which it may
//! be asked again is left alone until then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ao_core::ProjectId;
use ao_ports::{HintReceiver, LookHint};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The first and the longest pause before a failed look is repeated.
const FIRST: Duration = Duration::from_secs(5);
const MOST: Duration = Duration::from_secs(5 * 60);
/// The longest time for which a limit is believed.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

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
    /// The time before which a project is not looked at, by a limit of its forge or tracker.
    limited: BTreeMap<ProjectId, Instant>,
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
                open.next()
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

    /// Schedules a failed look again, later.
    pub(crate) fn again(&self, hint: LookHint) {
        let mut open = self.open();
        let wait = open.later.get(&hint).map_or(FIRST, |later| (later.wait * 2).min(MOST));
        open.later.insert(hint, RetryTime { at: Instant::now() + wait, wait });
        drop(open);
        self.some.notify_one();
    }

    /// Leaves a project alone for a while: its forge or its tracker asks for that.
    pub(crate) fn limit(&self, project: &ProjectId, after: Duration) {
        let until = Instant::now() + after.min(LIMIT);
        let mut open = self.open();
        let known = open.limited.entry(project.clone()).or_insert(until);
        *known = until.max(*known);
    }

    /// Returns true while a project is left alone.
    pub(crate) fn is_limited(&self, project: &ProjectId) -> bool {
        self.open().limited.get(project).is_some_and(|until| *until > Instant::now())
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
        self.limited.retain(|_, until| *until > now);
        let is_free = |hint: &LookHint| !self.limited.contains_key(hint.project());
        let mut taken: BTreeSet<LookHint> = self.now.extract_if(.., |hint| is_free(hint)).collect();
        for (hint, later) in self.later.iter_mut().filter(|(hint, later)| later.at <= now && is_free(hint)) {
            taken.insert(hint.clone());
            // Not before the result of this look is known.
            later.at = now + MOST;
        }
        taken
    }

    /// Returns the time at which something is to be asked next.
    fn next(&self) -> Option<Instant> {
        let free = |hint: &LookHint| self.limited.get(hint.project()).copied();
        let now = self.now.iter().filter_map(free);
        let later = self.later.iter().map(|(hint, later)| free(hint).map_or(later.at, |at| at.max(later.at)));
        now.chain(later).min()
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
    use ao_core::PullId;
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
            asked.again(hint());
        }
        assert_eq!(waits, [0, 5, 10, 20, 40, 80, 160, 300, 300]);
        asked.answered(&hint());
        assert!(timeout(Duration::from_secs(3600), asked.take()).await.is_err());
        asked.again(hint());
        let began = Instant::now();
        asked.take().await;
        assert_eq!(began.elapsed().as_secs(), 5, "it begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limited_project_is_left_alone_for_as_long_as_its_service_asks() {
        let asked = PendingLooks::default();
        let other = LookHint::Project(ProjectId::new("other"));
        asked.hint(hint());
        assert_eq!(asked.take().await.len(), 1);
        asked.limit(hint().project(), Duration::from_secs(900));
        asked.limit(hint().project(), Duration::from_secs(30));
        asked.again(hint());
        let pull = LookHint::Pull(PullId { project: ProjectId::new("app"), number: 7 });
        asked.hint(pull.clone());
        asked.hint(other.clone());
        let began = Instant::now();
        assert_eq!(asked.take().await, BTreeSet::from([other]), "others are looked at");
        assert_eq!(began.elapsed().as_secs(), 0);
        assert_eq!(asked.take().await, BTreeSet::from([hint(), pull]));
        assert_eq!(began.elapsed().as_secs(), 900, "neither its backoff nor a hint comes before");
    }
}
