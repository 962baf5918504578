//! Converts the schedule to wire types.

use ao_api::WaitReason;
use ao_core::plan;
use ao_core::schedule::Obstacle;
use ao_core::{ProjectId, State, Timestamp};

use super::explain::waits_for;

/// Converts work that runs, will run, and waits.
pub(crate) fn plan(state: &State, now: Timestamp, project: Option<&ProjectId>) -> ao_api::Plan {
    let plan::WorkPlan { running, next, waiting } = plan::plan(state, now, project);
    let told = |list: Vec<plan::PlannedWork>| list.into_iter().map(|one| planned(state, one, now)).collect();
    ao_api::Plan {
        taken: state.slots_taken(),
        slots: state.settings.max_live,
        running: told(running),
        next: told(next),
        waiting: told(waiting),
    }
}

fn planned(state: &State, planned: plan::PlannedWork, now: Timestamp) -> ao_api::Planned {
    let session = planned.session.and_then(|id| state.sessions.get(&id));
    let why = match &planned.obstacle {
        Some(obstacle) => Some(waits_for(state, obstacle)),
        None => session.filter(|_| planned.round.is_none()).map(|session| session.status(now).reason),
    };
    ao_api::Planned {
        project_id: planned.project.to_string(),
        issue: planned.task.map(|task| task.to_string()),
        session: session.map(|session| session.spec.name.clone()),
        title: planned.title,
        agent: planned.agent,
        chosen: planned.chosen,
        priority: planned.priority,
        round: planned.round,
        reason: planned.obstacle.as_ref().map(reason),
        why,
        blocked_by: planned.blocked_by.iter().map(ToString::to_string).collect(),
    }
}

fn reason(obstacle: &Obstacle) -> WaitReason {
    same_name!(
        obstacle, Obstacle => WaitReason: Cap, ProjectCap, SpecialistCap, Memory, BlockedBy, Held, Account, Ports, Asked,
        Collides, Untrusted, NoSpecialist, NotAssigned, Worked, Stopped, Begun
    )
}
