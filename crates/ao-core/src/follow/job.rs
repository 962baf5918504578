//! Consequences of the end of a job: its requester gets the result.

use std::collections::VecDeque;

use super::hooks;
use crate::health::BaseVerdict;
use crate::incident::{IncidentInput, Subject};
use crate::input::Input;
use crate::job::{IncidentReaction, JobEvent, JobOutcome, Requester};
use crate::notice::{NewNotice, NoticeLevel};
use crate::outside::cut;
use crate::project::ProjectInput;
use crate::state::State;
use crate::{JobId, PullId, TaskId, Timestamp};

/// Bytes of a job's remark that are kept with its incident.
const SAID: usize = 2 * 1024;

pub(super) fn follow(state: &State, id: JobId, event: &JobEvent, at: Timestamp, then: &mut VecDeque<Input>) {
    let (requester, result) = match event {
        JobEvent::Done { requester, outcome } => (requester, Ok(outcome)),
        JobEvent::Failed { requester, why } => (requester, Err(why)),
        JobEvent::Wanted { .. } | JobEvent::Delayed { .. } | JobEvent::Retried {} => return,
    };
    match requester {
        Requester::Incident(reacting) => then.push_back(for_incident(state, id, reacting, result)),
        Requester::Base { project, check, commit } => {
            let verdict = match result {
                Ok(JobOutcome::BaseGreen {}) => BaseVerdict::Green {},
                Ok(JobOutcome::BaseRed { signature, excerpt }) => {
                    BaseVerdict::Red { signature: signature.clone(), excerpt: excerpt.clone() }
                }
                Ok(JobOutcome::Done { said: why } | JobOutcome::Refused { why }) | Err(why) => {
                    BaseVerdict::Unknown { why: why.clone() }
                }
            };
            then.push_back(Input::Project {
                project: project.clone(),
                input: ProjectInput::BaseFound { check: check.clone(), commit: commit.clone(), verdict },
            });
        }
        Requester::Task(task) => {
            then.extend(for_task(state, task, result));
            // No session works on it, so the project may be complete.
            then.extend(super::complete(state, &task.project, at));
        }
        Requester::Landed(pull) => {
            then.extend(unsettled(pull, result));
            // The project may be complete.
            then.extend(super::complete(state, &pull.project, at));
        }
        Requester::Assign(_) | Requester::Merge { .. } | Requester::Point { .. } | Requester::Update(_) => {
            hooks::answered(state, requester, event, then);
        }
    }
}

/// If no agent can take a task, notifies a person once per reason.
fn for_task(state: &State, task: &TaskId, result: Result<&JobOutcome, &String>) -> Vec<Input> {
    let mut then = vec![Input::Schedule];
    if let (Ok(JobOutcome::Refused { why }) | Err(why), true) = (result, state.tasks.contains_key(task)) {
        let why = cut(why, SAID);
        then.push(Input::notify(
            NoticeLevel::Action,
            Subject::Project(task.project.clone()),
            format!("unassigned {task} {why}"),
            format!("{task} was not given to an agent: {why}"),
        ));
    }
    then
}

/// Notifies a person of issues that a merge should have closed and did not.
fn unsettled(pull: &PullId, result: Result<&JobOutcome, &String>) -> Option<Input> {
    let (Ok(JobOutcome::Refused { why }) | Err(why)) = result else { return None };
    Some(Input::notify(
        NoticeLevel::Action,
        Subject::Pull(pull.clone()),
        format!("unsettled {pull}"),
        format!(
            "{pull} was merged, but its issues were not closed: {}; close them with `ao issue close`",
            cut(why, SAID)
        ),
    ))
}

fn for_incident(
    state: &State,
    id: JobId,
    reacting: &IncidentReaction,
    result: Result<&JobOutcome, &String>,
) -> Input {
    let key = &reacting.to;
    let result = match result {
        Ok(JobOutcome::Done { said }) => Ok(cut(said, SAID)),
        Ok(JobOutcome::BaseGreen {} | JobOutcome::BaseRed { .. }) => Ok(String::new()),
        Ok(JobOutcome::Refused { why }) | Err(why) => Err(cut(why, SAID)),
    };
    match result {
        // A custom event is soon past, but a failed reaction to it is still worth a notice.
        Err(why) if key.kind.is_moment() && !state.incidents.contains_key(key) => {
            let reaction = state.reaction(&key.kind, &key.subject);
            Input::Tell(Box::new(NewNotice {
                channel: reaction.channel,
                ..NewNotice::new(
                    reaction.level,
                    key.subject.clone(),
                    format!("{id} failed"),
                    format!("what was to be done about {key} failed: {why}"),
                )
            }))
        }
        result => {
            let input = IncidentInput::Job { round: reacting.round.clone(), result };
            Input::Incident { key: key.clone(), input }
        }
    }
}
