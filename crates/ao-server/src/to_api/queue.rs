//! Converts merge queues to wire types: entries in the order of landing, each with what it waits for.

use ao_api::{MergeQueue, QueuedPull, QueuedState};
use ao_core::project::Project;
use ao_core::pull::ChecksVerdict;
use ao_core::queue::{InTheWay, Lane, LanePart, LaneState, MergeQueue as Queue, QueueEntry};
use ao_core::{ProjectId, PullId, State};

use super::time;

/// Converts the queue of a project, if there is such a project.
pub(crate) fn merge_queue(state: &State, id: &ProjectId) -> Option<MergeQueue> {
    let project = state.projects.get(id)?;
    let (queue, rules) = (&project.queue, project.config.merge_queue.clone().unwrap_or_default());
    let order = state.merge_order(id);
    let entries = order.iter().filter_map(|pull| project.queued(pull));
    Some(MergeQueue {
        project_id: id.to_string(),
        branch: project.config.default_branch.clone(),
        base: queue.base.as_ref().map(ToString::to_string),
        paused: queue.paused.clone(),
        configured: project.config.merge_queue.is_some(),
        parallel: rules.parallel,
        batch: rules.batch,
        entries: entries.map(|entry| told(state, project, entry)).collect(),
    })
}

fn told(state: &State, project: &Project, entry: &QueueEntry) -> QueuedPull {
    let queue = project.queue_with(&entry.pull).unwrap_or(&project.queue);
    // A pause does not hold a request up.
    let paused = queue.paused.as_deref().filter(|_| entry.request.is_none());
    let lane = queue.lane_of(&entry.pull);
    let known = state.pulls.get(&entry.pull);
    let owner = known.and_then(|known| known.owner).and_then(|owner| state.sessions.get(&owner));
    let in_the_way = lane.and_then(|lane| queue.in_the_way_of(lane));
    let waits = match (lane, &entry.held, paused) {
        (Some(lane), ..) => of_lane(lane, paused, state, queue, &entry.pull),
        (None, Some(why), _) => why.clone(),
        (None, None, Some(why)) => format!("the queue is paused: {why}"),
        (None, None, None) if queue.policy_due => "the new policy to be read".to_owned(),
        (None, None, None) if queue.base.is_none() => "where the base is has not been seen yet".to_owned(),
        (None, None, None) => "its turn".to_owned(),
    };
    let parts = lane.map(|lane| lane.parts.as_slice()).unwrap_or_default();
    QueuedPull {
        id: entry.pull.to_string(),
        title: known.map(|known| known.facts.title.clone()).unwrap_or_default(),
        head: entry.head.to_string(),
        priority: entry.priority,
        requested_by: entry.request.as_ref().map(|request| request.by.clone()),
        since: time(entry.since),
        state: state_of(lane, entry, in_the_way),
        waits,
        base: lane.map(|lane| lane.on.to_string()),
        ahead: lane.map(|lane| names(&lane.left)).unwrap_or_default(),
        batch: if parts.len() > 1 { names(parts) } else { vec![] },
        tries: entry.tries,
        session: owner.map(|owner| owner.spec.name.clone()),
    }
}

fn state_of(lane: Option<&Lane>, entry: &QueueEntry, in_the_way: Option<&InTheWay>) -> QueuedState {
    match lane.map(|lane| &lane.state) {
        Some(LaneState::Testing {} | LaneState::Tested { .. }) if in_the_way.is_some() => QueuedState::Held,
        Some(LaneState::Testing {}) => QueuedState::Testing,
        Some(LaneState::Tested { .. }) => QueuedState::Tested,
        Some(LaneState::Failed { .. }) => QueuedState::Failed,
        Some(LaneState::Landing { .. }) => QueuedState::Landing,
        None if entry.held.is_some() => QueuedState::Held,
        None => QueuedState::Waiting,
    }
}

fn of_lane(lane: &Lane, paused: Option<&str>, state: &State, queue: &Queue, pull: &PullId) -> String {
    let ahead = || names(&lane.left).join(", ");
    let in_the_way = queue.in_the_way_of(lane);
    match (&lane.state, paused) {
        (LaneState::Failed { .. }, _) => format!("{} to land, which may be why it failed", ahead()),
        (LaneState::Landing { .. }, _) => "its merge".to_owned(),
        (_, Some(why)) => format!("the queue is paused: {why}"),
        (LaneState::Testing {}, None) if let Some(known) = in_the_way => known.why.clone(),
        (LaneState::Testing {}, None) if is_unchecked(state, pull) => "a trial of its merge".to_owned(),
        (LaneState::Testing {}, None) => "its checks".to_owned(),
        (LaneState::Tested { .. }, None) if !lane.left.is_empty() => format!("{} to land", ahead()),
        (LaneState::Tested { .. }, None) if let Some(known) = in_the_way => known.why.clone(),
        (LaneState::Tested { .. }, None) => {
            let unheard = queue.entries.iter().any(|entry| lane.has(&entry.pull) && !entry.cleared);
            if unheard { "the hook `before-merge`".to_owned() } else { "its merge".to_owned() }
        }
    }
}

fn is_unchecked(state: &State, pull: &PullId) -> bool {
    state.pulls.get(pull).is_some_and(|pull| pull.green() == ChecksVerdict::Unchecked)
}

fn names(parts: &[LanePart]) -> Vec<String> {
    parts.iter().map(|part| part.pull.to_string()).collect()
}
