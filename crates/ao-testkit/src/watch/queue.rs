//! What must hold of each event of a merge queue.

use ao_core::queue::{Lane, QueueEvent, Rejection};
use ao_core::{ProjectId, PullId};

use super::Invariant::{FairlyJudged, LandsInOrder};
use crate::universe::Inner;

/// Enters an event of a queue into the books, before the shadow follows it.
pub(super) fn queue(inner: &mut Inner, project: &ProjectId, event: &QueueEvent) {
    let Some(known) = inner.log.shadow.projects.get(project) else { return };
    let queue = &known.queue;
    let broken = match event {
        QueueEvent::LandStarted { pull, .. } => {
            let first = queue.lanes.first().is_some_and(|lane| lane.has(pull));
            inner.log.ledger.landing.insert(pull.clone());
            (!first).then(|| (LandsInOrder, format!("{pull} lands before those ahead of it")))
        }
        QueueEvent::TestStarted { pull, with, .. } => {
            let begun: Vec<&PullId> = with.iter().map(|part| &part.pull).chain([pull]).collect();
            let urgency = begun.iter().filter_map(|pull| queue.entry(pull)).map(|entry| entry.priority).min();
            let passed_over = queue.entries.iter().find(|entry| {
                let waits = queue.lane_of(&entry.pull).is_none() && !begun.contains(&&entry.pull);
                waits && entry.held.is_none() && urgency.is_some_and(|urgency| entry.priority > urgency)
            });
            passed_over.map(|entry| (LandsInOrder, format!("{begun:?} are begun, and {} waits", entry.pull)))
        }
        QueueEvent::Rejected { pull, reason, .. } => {
            let lane = queue.lane_of(pull);
            let fair = match reason {
                Rejection::Red { .. } => lane.is_some_and(|lane| lane.parts.len() == 1 && is_first(lane)),
                Rejection::Conflict { .. } => {
                    lane.is_some_and(|lane| lane.parts[0].pull == *pull && is_first(lane))
                }
                Rejection::Broken { .. } | Rejection::Vetoed { .. } | Rejection::Held { .. } => true,
            };
            (!fair).then(|| (FairlyJudged, format!("{pull} is sent back, and its test was {lane:?}")))
        }
        _ => None,
    };
    if let Some((invariant, what)) = broken {
        inner.broken(invariant, what);
    }
}

/// Whether nothing is ahead of it that could be why it failed.
fn is_first(lane: &Lane) -> bool {
    lane.left.is_empty()
}
