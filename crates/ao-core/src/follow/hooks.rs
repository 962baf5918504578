//! Hook points that are reached, and the consequences of what their hooks decide.
//!
//! ```text
//!  something happened ─► its point has hooks? ─► a job ─► (nobody waits: a failure is told once a day)
//!  a turn, a merge    ─► its point has hooks? ─► a job ─► yes: it goes on · no: it is held, with the reason
//! ```

use std::collections::VecDeque;

use super::message::marked;
use crate::event::{Event, StampedEvent};
use crate::hook::{self, HookLanding, HookPoint, HookSubject};
use crate::incident::Subject;
use crate::input::Input;
use crate::job::{JobEvent, JobOutcome, Requester};
use crate::notice::NoticeLevel;
use crate::outside::one_line;
use crate::project::ProjectEvent;
use crate::pull::{CheckState, PullEvent, owner_of};
use crate::queue::QueueInput;
use crate::session::{HoldKind, SessionEvent, SessionInput};
use crate::state::State;
use crate::{ProjectId, PullId, SessionId, Timestamp};

const DAY: i64 = 86_400_000;

/// Runs the hooks of the point that an event belongs to.
pub(super) fn follow(state: &State, stamped: &StampedEvent, then: &mut VecDeque<Input>) {
    let at = stamped.at;
    match &stamped.event {
        Event::Session(id, event) => then.extend(session(state, *id, event, at)),
        Event::Pull(id, event) => then.extend(pull(state, id, event, at)),
        // Includes a change of the configuration alone: entries tested before there were hooks need an answer too.
        Event::Queue(id, _) | Event::Project(id, ProjectEvent::Configured { .. }) => {
            then.extend(landing(state, id, at));
        }
        _ => {}
    }
}

fn session(state: &State, id: SessionId, event: &SessionEvent, at: Timestamp) -> Option<Input> {
    let session = state.sessions.get(&id)?;
    let point = match event {
        SessionEvent::WorkspaceReady { .. } => HookPoint::WorkspaceCreated,
        // A session starts once, even if its process starts repeatedly.
        SessionEvent::Launched { .. } if session.launch.count == 1 => HookPoint::SessionStarted,
        SessionEvent::Ended { .. } => HookPoint::SessionEnded,
        _ => return None,
    };
    let project = &session.spec.project;
    let what = format!("{id} {}", session.attempt);
    let about = HookSubject { session: Some(id), ..HookSubject::default() };
    hook::wanted(state, project, point, &what, at, nobody_waits(project, point), about)
}

fn pull(state: &State, id: &PullId, event: &PullEvent, at: Timestamp) -> Option<Input> {
    let known = state.pulls.get(id);
    let owner = known.and_then(|pull| pull.owner.or_else(|| owner_of(state, pull)));
    let mut about = HookSubject { session: owner, pull: Some(id), ..HookSubject::default() };
    let (point, what) = match event {
        PullEvent::Opened { .. } => (HookPoint::PrCreated, id.to_string()),
        PullEvent::CheckReported { .. } => {
            let facts = &known?.facts;
            let over = facts.checks.iter().all(|check| check.state != CheckState::Pending);
            if !over || facts.checks.is_empty() {
                return None;
            }
            (HookPoint::ChecksCompleted, format!("{id} {}", facts.head))
        }
        PullEvent::ReviewGiven { review, .. } => {
            about.review = Some(review);
            (HookPoint::ReviewReceived, format!("{id} {} {}", review.id, review.revision))
        }
        PullEvent::Merged { commit } => {
            if let Some(pull) = known {
                about.merge = Some(HookLanding { head: &pull.facts.head, base: None, commit: Some(commit) });
            }
            (HookPoint::Merged, id.to_string())
        }
        _ => return None,
    };
    hook::wanted(state, &id.project, point, &what, at, nobody_waits(&id.project, point), about)
}

/// Returns the questions to hooks about entries that wait to land. Each stays the same question until it is answered.
fn landing(state: &State, project: &ProjectId, at: Timestamp) -> Vec<Input> {
    let unheard = state
        .projects
        .get(project)
        .into_iter()
        .flat_map(|project| project.queues().flat_map(|queue| queue.awaits_word()));
    unheard.filter_map(|(pull, head, base)| hook::may_land(state, pull, head, base, at)).collect()
}

fn nobody_waits(project: &ProjectId, point: HookPoint) -> Requester {
    Requester::Point { project: project.clone(), point }
}

/// Passes the decision of hooks to what waits for it.
pub(super) fn answered(state: &State, requester: &Requester, event: &JobEvent, then: &mut VecDeque<Input>) {
    let objection = match event {
        JobEvent::Done { outcome: JobOutcome::Refused { why }, .. } => Some(why.clone()),
        // A hook that could not run has not agreed.
        JobEvent::Failed { why, .. } => Some(format!("it could not be run: {why}")),
        _ => None,
    };
    match requester {
        Requester::Assign(id) => then.push_back(Input::Session {
            session: *id,
            input: match objection {
                None => SessionInput::Clear,
                Some(why) => {
                    let why = format!("the hook `{}` objects: {}", HookPoint::BeforeAssign, one_line(&why));
                    SessionInput::Hold { kind: HoldKind::Hook, why }
                }
            },
        }),
        Requester::Merge { pull, head } => then.push_back(Input::Queue {
            project: pull.project.clone(),
            input: QueueInput::Verdict { pull: pull.clone(), head: head.clone(), objection },
        }),
        Requester::Point { project, point } => then.extend(objection.map(|why| {
            Input::notify(
                NoticeLevel::Warning,
                Subject::Project(project.clone()),
                format!("hook {project} {point} {}", state.at.0.div_euclid(DAY)),
                marked(&format!("the hook `{point}` of `{project}` failed: {why}")),
            )
        })),
        Requester::Incident(_)
        | Requester::Base { .. }
        | Requester::Task(_)
        | Requester::Landed(_)
        | Requester::Update(_) => {}
    }
}

/// Returns the input that follows when a session was held by a hook.
pub(super) fn held(state: &State, id: SessionId, why: &str, at: Timestamp) -> Option<Input> {
    let session = state.sessions.get(&id)?;
    Some(Input::notify(
        NoticeLevel::Action,
        Subject::Session(id),
        format!("{id} hook {at}"),
        format!(
            "`{}` does not start: {why}; `ao resume {}` asks the hook again",
            session.spec.name, session.spec.name
        ),
    ))
}
