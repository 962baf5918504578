//! How an event changes the queue. Nothing here can fail.

use std::cmp::Reverse;

use super::{Entry, EntryState, MergeQueue, QueueEvent};
use crate::{PullId, Timestamp};

/// Folds an event into the queue.
pub(crate) fn evolve(queue: &mut MergeQueue, event: &QueueEvent, at: Timestamp) {
    match event {
        QueueEvent::Enqueued { pull, head, priority } => {
            let (pull, head, priority) = (pull.clone(), head.clone(), *priority);
            queue.entries.retain(|entry| entry.pull != pull);
            let state = EntryState::Waiting;
            let (tries, held, cleared) = (0, None, false);
            queue.entries.push(Entry { pull, head, priority, since: at, state, tries, held, cleared });
            sort(queue);
        }
        QueueEvent::Reprioritized { pull, priority } => {
            change(queue, pull, |entry| entry.priority = *priority);
            sort(queue);
        }
        QueueEvent::Paused { why } => queue.paused = Some(why.clone()),
        QueueEvent::Resumed {} => queue.paused = None,
        QueueEvent::BaseMoved { base } => queue.base = Some(base.clone()),
        QueueEvent::TestStarted { pull, base, .. } => change(queue, pull, |entry| {
            entry.state = EntryState::Testing { base: base.clone() };
            entry.held = None;
        }),
        QueueEvent::TestPassed { pull, base, tree, .. } => {
            change(queue, pull, |entry| {
                entry.state = EntryState::Tested { base: base.clone(), tree: tree.clone() }
            });
        }
        QueueEvent::LandStarted { pull, base, tree, .. } => {
            change(queue, pull, |entry| {
                entry.state = EntryState::Landing { base: base.clone(), tree: tree.clone() }
            });
        }
        QueueEvent::Cleared { pull, .. } => change(queue, pull, |entry| entry.cleared = true),
        QueueEvent::Voided { pull, .. } => change(queue, pull, |entry| entry.state = EntryState::Waiting),
        QueueEvent::Held { pull, why } => change(queue, pull, |entry| entry.held = Some(why.clone())),
        QueueEvent::TryFailed { pull, tries, .. } => change(queue, pull, |entry| entry.tries = *tries),
        QueueEvent::Removed { pull, .. }
        | QueueEvent::Rejected { pull, .. }
        | QueueEvent::Landed { pull, .. } => {
            queue.entries.retain(|entry| entry.pull != *pull);
        }
    }
}

fn change(queue: &mut MergeQueue, pull: &PullId, how: impl FnOnce(&mut Entry)) {
    if let Some(entry) = queue.entries.iter_mut().find(|entry| entry.pull == *pull) {
        how(entry);
    }
}

/// By urgency, then by who came first. The id decides between two of one moment, so that a replay agrees.
fn sort(queue: &mut MergeQueue) {
    queue.entries.sort_by_key(|entry| (Reverse(entry.priority), entry.since, entry.pull.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Commit, ProjectId};

    fn pull(number: u64) -> PullId {
        PullId { project: ProjectId::new("my-app"), number }
    }

    fn order(queue: &MergeQueue) -> Vec<u64> {
        queue.entries.iter().map(|entry| entry.pull.number).collect()
    }

    #[test]
    fn urgent_ones_go_first_and_among_equals_who_came_first() {
        let mut queue = MergeQueue::default();
        for (number, priority, at) in [(1, 0, 10), (2, 5, 30), (3, 0, 20), (4, 5, 30), (5, -1, 5)] {
            let enqueued = QueueEvent::Enqueued { pull: pull(number), head: Commit::new("h"), priority };
            evolve(&mut queue, &enqueued, Timestamp(at));
        }
        assert_eq!(order(&queue), [2, 4, 1, 3, 5]);
        evolve(&mut queue, &QueueEvent::Reprioritized { pull: pull(5), priority: 9 }, Timestamp(40));
        assert_eq!(order(&queue), [5, 2, 4, 1, 3]);
    }

    #[test]
    fn an_event_about_a_pull_request_that_left_changes_nothing() {
        let mut queue = MergeQueue::default();
        evolve(&mut queue, &QueueEvent::Voided { pull: pull(1), why: "late".into() }, Timestamp(1));
        assert_eq!(queue, MergeQueue::default());
    }

    #[test]
    fn every_event_is_stored_as_an_object_under_its_name() {
        let json = serde_json::to_string(&QueueEvent::Resumed {}).unwrap();
        assert_eq!(json, r#"{"resumed":{}}"#);
        assert_eq!(serde_json::from_str::<QueueEvent>(&json).unwrap(), QueueEvent::Resumed {});
    }
}
