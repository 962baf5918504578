//! Timers: the next of all at once, and each one's own without a search.

use std::collections::BTreeSet;
use std::hash::Hash;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::budget::BudgetScope;
use crate::incident::IncidentKey;
use crate::{JobId, NoticeId, ProjectId, SessionId, Timestamp};

/// The owner of a timer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum StateTimer {
    Session(SessionId),
    Incident(IncidentKey),
    Notice(NoticeId),
    Job(JobId),
    Budget(BudgetScope),
    Account(String),
    /// A freeze of a project begins or ends.
    Policy(ProjectId),
    /// A blocked landing is retried.
    Queue(ProjectId),
}

/// The timers. Those of sessions are separate: each signal of an agent moves one of them, and a number is found
/// quickly in a set of ten thousand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TimerSet {
    sessions: TimerLine<SessionId>,
    others: TimerLine<StateTimer>,
}

impl TimerSet {
    pub(super) fn set(&mut self, timer: StateTimer, due: Option<Timestamp>) {
        match timer {
            StateTimer::Session(session) => self.sessions.set(session, due),
            other => self.others.set(other, due),
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        let first = [self.sessions.first(), self.others.first()];
        first.into_iter().flatten().min()
    }

    /// Returns the timers that are due, the longest overdue first, at most `limit` of them.
    pub(super) fn due(&self, now: Timestamp, limit: usize) -> Vec<StateTimer> {
        let sessions = self.sessions.due(now).map(|(at, id)| (*at, StateTimer::Session(*id)));
        let others = self.others.due(now).map(|(at, timer)| (*at, timer.clone()));
        let mut due: Vec<_> = sessions.take(limit).chain(others.take(limit)).collect();
        due.sort();
        due.truncate(limit);
        due.into_iter().map(|(_, timer)| timer).collect()
    }
}

/// Timers of one kind, by key and by time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TimerLine<K: Eq + Hash> {
    at: IndexMap<K, Timestamp, FxBuildHasher>,
    order: BTreeSet<(Timestamp, K)>,
}

impl<K: Eq + Hash> Default for TimerLine<K> {
    fn default() -> TimerLine<K> {
        TimerLine { at: IndexMap::default(), order: BTreeSet::new() }
    }
}

impl<K: Clone + Ord + Hash> TimerLine<K> {
    fn set(&mut self, who: K, due: Option<Timestamp>) {
        let before = match due {
            Some(at) => self.at.insert(who.clone(), at),
            None => self.at.swap_remove(&who),
        };
        if before == due {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, who.clone()));
        }
        if let Some(at) = due {
            self.order.insert((at, who));
        }
    }

    fn first(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }

    fn due(&self, now: Timestamp) -> impl Iterator<Item = &(Timestamp, K)> {
        self.order.iter().take_while(move |(at, _)| *at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sorts_are_due_in_one_order_and_no_more_than_are_wanted() {
        let mut timers = TimerSet::default();
        let account = |name: &str| StateTimer::Account(name.to_owned());
        for (at, timer) in [
            (30, StateTimer::Session(SessionId(1))),
            (10, account("late")),
            (20, StateTimer::Session(SessionId(2))),
            (20, account("same time")),
            (99, account("not yet")),
        ] {
            timers.set(timer, Some(Timestamp(at)));
        }
        assert_eq!(timers.next(), Some(Timestamp(10)));
        let all = [
            account("late"),
            StateTimer::Session(SessionId(2)),
            account("same time"),
            StateTimer::Session(SessionId(1)),
        ];
        for limit in 0..6 {
            assert_eq!(timers.due(Timestamp(30), limit), all[..limit.min(4)], "{limit}");
        }
        timers.set(account("late"), None);
        timers.set(StateTimer::Session(SessionId(2)), Some(Timestamp(5)));
        assert_eq!(timers.next(), Some(Timestamp(5)));
        timers.set(StateTimer::Session(SessionId(2)), None);
        assert_eq!(timers.due(Timestamp(30), 9), [account("same time"), StateTimer::Session(SessionId(1))]);
    }
}
