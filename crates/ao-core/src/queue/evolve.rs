//! Applies events to the queue. Nothing here can fail.

use std::cmp::Reverse;

use super::{
    BASES_KEPT, InTheWay, Lane, LanePart, LaneState, MergeQueue, QueueEntry, QueueEvent, QueueRejection,
};
use crate::{Commit, PullId, Timestamp};

/// Folds an event into the queue.
pub(crate) fn evolve(queue: &mut MergeQueue, event: &QueueEvent, at: Timestamp) {
    match event {
        QueueEvent::Enqueued { pull, head, priority, request, .. } => {
            let (pull, head, priority) = (pull.clone(), head.clone(), *priority);
            leave(queue, &pull);
            let entry = QueueEntry {
                pull,
                head,
                priority,
                since: at,
                tries: 0,
                held: None,
                cleared: false,
                most: None,
                landings: 0,
                in_the_way: None,
                request: request.clone(),
            };
            queue.entries.push(entry);
            sort(queue);
        }
        QueueEvent::Reprioritized { pull, priority } => {
            change(queue, pull, |entry| entry.priority = *priority);
            sort(queue);
        }
        QueueEvent::Paused { why } => queue.paused = Some(why.clone()),
        QueueEvent::Resumed {} => queue.paused = None,
        QueueEvent::BaseMoved { base, .. } => base_moved(queue, base),
        QueueEvent::TestStarted { pull, head, base, ahead, with, policy } => {
            let last = LanePart { pull: pull.clone(), head: head.clone() };
            let parts: Vec<LanePart> = with.iter().cloned().chain([last]).collect();
            for part in &parts {
                change(queue, &part.pull, |entry| (entry.held, entry.in_the_way) = (None, None));
            }
            queue.lanes.push(Lane::new(base.clone(), ahead.clone(), parts, *policy));
        }
        QueueEvent::TestPassed { pull, tree, .. } => {
            change_lane(queue, pull, LaneState::Tested { tree: tree.clone() });
            change(queue, pull, |entry| entry.tries = entry.landings);
        }
        QueueEvent::TestFailed { pull, result, .. } => {
            change_lane(queue, pull, LaneState::Failed { result: result.clone() });
        }
        QueueEvent::Split { pulls, most, .. } => {
            for pull in pulls {
                change(queue, pull, |entry| entry.most = Some(*most));
            }
        }
        QueueEvent::LandStarted { pull, tree, .. } => {
            change_lane(queue, pull, LaneState::Landing { tree: tree.clone() });
        }
        QueueEvent::Cleared { pull, .. } => change(queue, pull, |entry| entry.cleared = true),
        QueueEvent::Voided { pull, .. } => queue.lanes.retain(|lane| !lane.has(pull)),
        QueueEvent::Held { pull, why } => change(queue, pull, |entry| entry.held = Some(why.clone())),
        QueueEvent::TryFailed { pull, tries, landing, .. } => change(queue, pull, |entry| {
            entry.tries = *tries;
            entry.landings += u32::from(*landing);
        }),
        QueueEvent::InTheWay { pull, why, times, again_at } => {
            let (why, times, again_at) = (why.clone(), *times, *again_at);
            change(queue, pull, |entry| entry.in_the_way = Some(InTheWay { why, times, again_at }));
            let landing = queue.lanes.iter_mut().find(|lane| lane.has(pull));
            if let Some(lane) = landing
                && let LaneState::Landing { tree } = &lane.state
            {
                lane.state = LaneState::Tested { tree: tree.clone() };
            }
        }
        QueueEvent::TestResumed { pull } => change(queue, pull, |entry| entry.in_the_way = None),
        QueueEvent::Removed { pull, .. } => leave(queue, pull),
        QueueEvent::Rejected { pull, reason, .. } => {
            leave(queue, pull);
            // The culprit is found, so the others may be tested in full batches again.
            if matches!(reason, QueueRejection::Red { .. } | QueueRejection::Conflict { .. }) {
                queue.entries.iter_mut().for_each(|entry| entry.most = None);
            }
        }
        QueueEvent::Landed { pull, head, commit, .. } => {
            landed(queue, &LanePart { pull: pull.clone(), head: head.clone() }, commit);
        }
    }
}

/// Removes a pull request from the queue, with the lane it was tested in, whose result no longer counts.
fn leave(queue: &mut MergeQueue, pull: &PullId) {
    queue.entries.retain(|entry| entry.pull != *pull);
    queue.lanes.retain(|lane| !lane.has(pull));
}

/// Records that a part landed. Lanes that were tested on top of it stay valid, and so do their results.
fn landed(queue: &mut MergeQueue, part: &LanePart, commit: &Commit) {
    queue.entries.retain(|entry| entry.pull != part.pull);
    queue.policy_due |= queue.lane_of(&part.pull).is_some_and(|lane| lane.policy);
    let as_ordered = queue.lanes.first().filter(|lane| lane.is_landing() && lane.parts.first() == Some(part));
    let Some(on) = as_ordered.map(|lane| lane.on.clone()) else {
        queue.lanes.retain(|lane| !lane.has(&part.pull));
        return;
    };
    for lane in queue.lanes.iter_mut().filter(|lane| lane.on == on) {
        if lane.parts.first() == Some(part) {
            lane.parts.remove(0);
            lane.on = commit.clone();
        } else if lane.left.first() == Some(part) {
            lane.left.remove(0);
            lane.on = commit.clone();
        }
    }
    queue.lanes.retain(|lane| !lane.parts.is_empty());
}

fn base_moved(queue: &mut MergeQueue, base: &Commit) {
    // The base went back to an earlier commit, so any of them may return.
    if queue.past.contains(base) {
        queue.past.clear();
    } else if let Some(before) = queue.base.take() {
        if queue.past.len() == BASES_KEPT {
            queue.past.remove(0);
        }
        queue.past.push(before);
    }
    queue.base = Some(base.clone());
}

fn change(queue: &mut MergeQueue, pull: &PullId, how: impl FnOnce(&mut QueueEntry)) {
    if let Some(entry) = queue.entries.iter_mut().find(|entry| entry.pull == *pull) {
        how(entry);
    }
}

fn change_lane(queue: &mut MergeQueue, pull: &PullId, state: LaneState) {
    if let Some(lane) = queue.lanes.iter_mut().find(|lane| lane.has(pull)) {
        lane.state = state;
    }
}

/// Sorts by request, then priority, then age. The id breaks ties, so that a replay agrees.
fn sort(queue: &mut MergeQueue) {
    queue.entries.sort_by_key(|entry| {
        (entry.request.is_none(), Reverse(entry.priority), entry.since, entry.pull.clone())
    });
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
            let (pull, head) = (pull(number), Commit::new("h"));
            let enqueued = QueueEvent::Enqueued { pull, head, priority, request: None, branch: None };
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
