//! Invariants of each event of a merge queue.

use ao_core::queue::{Lane, MergeQueue, QueueEntry, QueueEvent, QueueRejection};
use ao_core::{ProjectId, PullId};

use super::Invariant::{FairRejection, LandsInOrder};
use crate::universe::UniverseState;

/// Records an event of a queue in the ledger, before it is applied to the shadow.
pub(super) fn queue(inner: &mut UniverseState, project: &ProjectId, event: &QueueEvent) {
    let Some(known) = inner.log.shadow.projects.get(project) else { return };
    let queue = &known.queue;
    let requested = |pull: &PullId| queue.entry(pull).is_some_and(|entry| entry.request.is_some());
    let broken = match event {
        QueueEvent::Enqueued { pull, request: Some(request), .. } => {
            inner.log.ledger.requests.push((pull.clone(), request.clone()));
            None
        }
        // A request has the queue to itself: it lands by rules of its own.
        QueueEvent::TestStarted { pull, .. }
            if !queue.lanes.is_empty() && (requested(pull) || has_request(queue)) =>
        {
            Some((LandsInOrder, format!("{pull} is begun, and a request is not alone: {:?}", queue.lanes)))
        }
        QueueEvent::LandStarted { pull, .. } => {
            let first = queue.lanes.first().is_some_and(|lane| lane.has(pull));
            inner.log.ledger.landing.insert(pull.clone());
            (!first).then(|| (LandsInOrder, format!("{pull} lands before those ahead of it")))
        }
        QueueEvent::TestStarted { pull, with, .. } => {
            let begun: Vec<&PullId> = with.iter().map(|part| &part.pull).chain([pull]).collect();
            let least = begun.iter().filter_map(|pull| queue.entry(pull)).map(urgency).min();
            let passed_over = queue.entries.iter().find(|entry| {
                let waits = queue.lane_of(&entry.pull).is_none() && !begun.contains(&&entry.pull);
                waits && entry.held.is_none() && least.is_some_and(|least| urgency(entry) > least)
            });
            passed_over.map(|entry| (LandsInOrder, format!("{begun:?} are begun, and {} waits", entry.pull)))
        }
        QueueEvent::Rejected { pull, reason, .. } => {
            let lane = queue.lane_of(pull);
            let fair = match reason {
                QueueRejection::Red { .. } => {
                    lane.is_some_and(|lane| lane.parts.len() == 1 && is_first(lane))
                }
                QueueRejection::Conflict { .. } => {
                    lane.is_some_and(|lane| lane.parts[0].pull == *pull && is_first(lane))
                }
                QueueRejection::Broken { .. } | QueueRejection::Vetoed { .. } => true,
                QueueRejection::Held { .. } => requested(pull),
            };
            (!fair).then(|| (FairRejection, format!("{pull} is sent back, and its test was {lane:?}")))
        }
        _ => None,
    };
    if let Some((invariant, what)) = broken {
        inner.broken(invariant, what);
    }
}

/// Returns how urgent an entry is: a request comes before every number.
fn urgency(entry: &QueueEntry) -> (bool, i32) {
    (entry.request.is_some(), entry.priority)
}

fn has_request(queue: &MergeQueue) -> bool {
    queue.lanes.iter().any(|lane| queue.request_of(lane).is_some())
}

/// Returns true if nothing ahead of it could be the cause of a failure.
fn is_first(lane: &Lane) -> bool {
    lane.left.is_empty()
}
