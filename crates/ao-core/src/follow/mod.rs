//! Consequences of events. The one place where one part of the state moves another.

mod base;
mod forecast;
mod hooks;
mod incident;
mod job;
mod limits;
mod message;
mod policy;
mod pull;
mod queue;
mod session;

use std::collections::VecDeque;

use crate::event::{Event, HostEvent, StampedEvent};
use crate::incident::Subject;
use crate::input::Input;
use crate::job::JobOrder;
use crate::notice::NoticeLevel;
use crate::outside::shortened;
use crate::project::{ProjectEvent, ProjectInput};
use crate::session::{Phase, SessionInput, SessionRole};
use crate::state::State;
use crate::task::TaskEvent;
use crate::{ProjectId, Timestamp, assign, work};

/// Adds the inputs that follow from an event, given the state after it.
pub(crate) fn follow(state: &State, stamped: &StampedEvent, then: &mut VecDeque<Input>) {
    match &stamped.event {
        Event::Session(id, event) => session::follow(state, *id, event, stamped.at, then),
        Event::Incident(key, event) => incident::follow(state, key, event, then),
        Event::Pull(id, event) => pull::follow(state, id, event, then),
        Event::Queue(project, event) => queue::follow(state, project, event, then),
        Event::Task(id, TaskEvent::Seen { .. }) => {
            then.push_back(Input::Schedule);
            then.extend(complete(state, &id.project, stamped.at));
        }
        Event::Task(id, TaskEvent::Closed {}) => {
            then.push_back(Input::Schedule);
            then.extend(complete(state, &id.project, stamped.at));
            // Its budget may be gone with it.
            then.push_back(Input::Review(Subject::Project(id.project.clone())));
            if let Some(waiting) = state.live_session_of(id).and_then(|id| state.sessions.get(&id))
                && matches!(waiting.phase, Phase::Queued { .. })
            {
                let stop = SessionInput::Stop { by: "ao".into(), why: format!("{id} was closed") };
                then.push_back(Input::Session { session: waiting.id, input: stop });
            }
        }
        Event::Account(account, event) => limits::account(state, account, event, stamped.at, then),
        Event::Budget(budget, event) => limits::budget(state, budget, event, then),
        Event::Project(
            id,
            event @ (ProjectEvent::BaseAsked { .. }
            | ProjectEvent::BaseFound { .. }
            | ProjectEvent::Flaked { .. }),
        ) => base::follow(state, id, event, then),
        Event::Project(id, ProjectEvent::Configured { .. }) => {
            limits::recount(state, then, |budget| budget.project() == Some(id));
            then.push_back(Input::Schedule);
        }
        Event::Project(
            id,
            ProjectEvent::Completed { .. }
            | ProjectEvent::RepositorySuspected { .. }
            | ProjectEvent::Removed {},
        ) => {
            then.push_back(Input::Review(Subject::Project(id.clone())));
        }
        Event::Project(id, ProjectEvent::Foreseen { found, .. }) => {
            forecast::follow(state, id, found, stamped.at, then);
        }
        Event::Project(
            id,
            event @ (ProjectEvent::PolicyChanged { .. }
            | ProjectEvent::PolicyBroken { .. }
            | ProjectEvent::FreezeTurned { .. }),
        ) => policy::follow(state, id, event, then),
        Event::Project(_, _) => then.push_back(Input::Schedule),
        Event::Host(HostEvent::Configured { .. }) => {
            limits::recount(state, then, |budget| budget.project().is_none());
            then.push_back(Input::Schedule);
        }
        Event::Host(HostEvent::MemoryEnough { .. }) => then.push_back(Input::Schedule),
        Event::Host(HostEvent::CensusDoubted { runtime, missing, expected }) => {
            let key = format!("doubted {runtime} {}", stamped.at.0 / 3_600_000);
            let text = format!(
                "`{runtime}` reports that {missing} of {expected} agents are gone at once; that is taken for a \
                 failed look, and nothing was ended"
            );
            then.push_back(Input::notify(NoticeLevel::Warning, Subject::Host, key, text));
        }
        Event::Job(id, event) => job::follow(state, *id, event, stamped.at, then),
        Event::Host(_) | Event::Notice(..) => {}
    }
    hooks::follow(state, stamped, then);
}

/// Reports that a project has no work left, if that is so and it had some.
fn complete(state: &State, id: &ProjectId, at: Timestamp) -> Option<Input> {
    // Checked first, because tasks are seen far more often than work ends.
    if !state.projects.get(id)?.may_complete() {
        return None;
    }
    // An orchestrator is there for a person and does not count as work; a next task and an open change do.
    let at_work = state.live_in(id).any(|session| session.spec.role != SessionRole::Orchestrator);
    let unsettled = || {
        let mut orders = state.jobs.values().map(|job| &job.order);
        orders.any(|order| matches!(order, JobOrder::Settle { pull, .. } if pull.project == *id))
    };
    let done =
        !at_work && !work::has_open_pull(state, id) && !unsettled() && !assign::has_next(state, id, at);
    done.then(|| Input::Project { project: id.clone(), input: ProjectInput::Complete })
}

/// Cuts a message to its maximum length, keeping its beginning and its end.
fn bounded(text: String) -> String {
    const MOST: usize = 16 * 1024;
    shortened(&text, MOST)
}
