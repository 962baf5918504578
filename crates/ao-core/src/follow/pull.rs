//! Consequences of the events of a pull request.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::base;
use super::incident::is_news_of;
use crate::decide::agent_of;
use crate::incident::{FailureDoubt, IncidentInput, IncidentKey, IncidentKind, ProblemId, Subject};
use crate::input::Input;
use crate::job::{JobOrder, Requester};
use crate::notice::NoticeLevel;
use crate::project::ProjectInput;
use crate::pull::{CheckState, Pull, PullEvent, PullInput, owner_of};
use crate::queue::QueueInput;
use crate::reaction::ReactionAction;
use crate::session::SessionInput;
use crate::state::State;
use crate::{PullId, SessionId, TaskId};

pub(super) fn follow(state: &State, id: &PullId, event: &PullEvent, then: &mut VecDeque<Input>) {
    let queue = |input| Input::Queue { project: id.project.clone(), input };
    if let PullEvent::Released { session } = event {
        let unlinked = SessionInput::PullUnlinked { pull: id.clone() };
        then.push_back(Input::Session { session: *session, input: unlinked });
    }
    match event {
        // It is not over before its issues are closed; the job's result continues from there.
        PullEvent::Merged { .. } if let Some(settle) = settle(state, id) => then.push_back(settle),
        PullEvent::Merged { .. } | PullEvent::Closed {} => {
            then.extend(super::complete(state, &id.project, state.at));
        }
        _ => {}
    }
    let Some(pull) = state.pulls.get(id) else {
        then.push_back(queue(QueueInput::Look {}));
        then.push_back(Input::Review(Subject::Pull(id.clone())));
        return;
    };
    match event {
        PullEvent::Claimed { session } => {
            let linked = SessionInput::PullLinked { pull: id.clone() };
            then.push_back(Input::Session { session: *session, input: linked });
        }
        PullEvent::HeadMoved { head, .. } => {
            then.push_back(queue(QueueInput::HeadMoved { pull: id.clone(), head: head.clone() }));
            then.extend(addressed(state, pull));
            then.extend(claimed_by_its_owner(state, pull));
        }
        // The session that was started to review it has done so.
        PullEvent::ReviewGiven { review, .. } => {
            let reviewer = state.session_named(&review.author.login);
            let reviewer = reviewer.filter(|session| session.reads() == Some(id) && session.is_live());
            then.extend(reviewer.map(|session| Input::Session {
                session: session.id,
                input: SessionInput::Stop { by: "ao".into(), why: format!("it has reviewed {id}") },
            }));
        }
        // No agent can fix it, so none gets a message. By commit and not by run: a retry is no news.
        PullEvent::CheckReported { check } if let CheckState::Broken { why } = &check.state => {
            let (name, commit) = (&check.name, &check.commit);
            then.push_back(Input::notify(
                NoticeLevel::Action,
                Subject::Pull(id.clone()),
                format!("broken {id} {name} {commit}"),
                format!(
                    "the check `{name}` of {id} could not be run on {commit}, whatever the change is: {why}"
                ),
            ));
        }
        PullEvent::BranchRenamed { .. } => then.extend(claimed_by_its_owner(state, pull)),
        PullEvent::Opened { .. } | PullEvent::BaseMoved { .. } | PullEvent::Retargeted { .. } => {
            let default = state.projects.get(&id.project).map(|known| &known.config.default_branch);
            let base_branch = &pull.facts.base_branch;
            let branch = (default != Some(base_branch)).then(|| base_branch.clone());
            then.push_back(queue(QueueInput::BaseMoved { base: pull.facts.base.clone(), branch }));
            then.extend(claimed_by_its_owner(state, pull));
            base::moved(state, pull, then);
            if let PullEvent::Opened { .. } = event {
                then.push_back(Input::Review(Subject::Project(id.project.clone())));
            }
        }
        PullEvent::CheckReported { check } => then.extend(flake(state, pull, &check.name)),
        PullEvent::Merged { .. } => {
            if let Some(owner) = pull.owner.and_then(|owner| state.sessions.get(&owner)) {
                let others_open = owner
                    .pulls
                    .iter()
                    .any(|other| other != id && state.pulls.get(other).is_some_and(|other| other.is_open()));
                if !others_open {
                    let merged = SessionInput::Merged { pull: id.clone() };
                    then.push_back(Input::Session { session: owner.id, input: merged });
                }
            }
        }
        _ => {}
    }
    then.push_back(queue(QueueInput::Look {}));
    then.push_back(Input::Review(Subject::Pull(id.clone())));
}

/// Orders that the issues be closed which a merged pull request settles: those that it names are found where it is done, and
/// of the tasks of its sessions those that have no other open pull request.
fn settle(state: &State, id: &PullId) -> Option<Input> {
    if state.projects.get(&id.project)?.config.leave_issues_open {
        return None;
    }
    let to_come = |task: &TaskId| {
        let mut others = state.pulls.values().filter(|other| other.id != *id && other.is_open());
        others.any(|other| other.tasks.values().any(|of| of == task))
    };
    let tasks = state.pulls.get(id).into_iter().flat_map(|pull| pull.tasks.values());
    let tasks: BTreeSet<TaskId> = tasks.filter(|task| !to_come(task)).cloned().collect();
    Some(Input::Order {
        key: format!("settle {id}"),
        order: Box::new(JobOrder::Settle { pull: id.clone(), tasks: tasks.into_iter().collect() }),
        requester: Requester::Landed(id.clone()),
    })
}

/// Returns the flake, if a failed check passes on the same head and the base was not at fault.
fn flake(state: &State, pull: &Pull, check: &str) -> Option<Input> {
    if pull.failures.contains_key(check) {
        return None;
    }
    let flaked = pull.runs.get(check)?.flaked.as_ref()?;
    let key = IncidentKey {
        subject: Subject::Pull(pull.id.clone()),
        kind: IncidentKind::CiFailed,
        problem: ProblemId::Check { check: check.to_owned(), signature: flaked.signature.clone() },
    };
    let doubt = state.incidents.get(&key).and_then(|incident| incident.doubt.as_ref());
    let the_base = matches!(doubt, Some(FailureDoubt::BaseRed {} | FailureDoubt::BaseMended { .. }));
    (!the_base).then(|| Input::Project {
        project: pull.id.project.clone(),
        input: ProjectInput::Flaked {
            check: check.to_owned(),
            signature: flaked.signature.clone(),
            excerpt: flaked.excerpt.clone(),
        },
    })
}

/// The time after a rebase job in which a new head may be its result.
const JUST_REBASED: Duration = Duration::from_secs(300);

/// Marks the threads that the agent got a message about as addressed by the new head.
pub(super) fn addressed(state: &State, pull: &Pull) -> Vec<Input> {
    let subject = Subject::Pull(pull.id.clone());
    // A working agent may be about to reply.
    let Some(agent) = agent_of(state, &subject).filter(|agent| !agent.is_at_it()) else { return vec![] };
    let outbox = &agent.outbox;
    // A head that we rebased ourselves addresses nothing.
    let ours = state.incidents_of(&subject).any(|incident| {
        incident.key.kind == IncidentKind::MergeConflicts
            && incident.acted > 0
            && state.at.since(incident.since) < JUST_REBASED
            && state.reaction(&incident.key.kind, &subject).action == ReactionAction::Rebase
    });
    if ours {
        return vec![];
    }
    let asked = state.incidents_of(&subject).filter(|incident| {
        let key = &incident.key;
        let on_its_way = [&outbox.current, &outbox.parked];
        let on_its_way = on_its_way.into_iter().flatten().flat_map(|delivery| &delivery.messages);
        let failed = outbox.failed.iter().map(|failed| &failed.message);
        let mut unheard = outbox.waiting.iter().chain(on_its_way).chain(failed);
        let action = state.reaction(&key.kind, &key.subject).action;
        let was_told =
            matches!(action, ReactionAction::SendToAgent | ReactionAction::SpawnAgent) || incident.instead;
        matches!(key.kind, IncidentKind::ChangesRequested | IncidentKind::BotComments)
            && was_told
            && incident.acted_on.is_some()
            && incident.tried.last().is_none_or(|told| told.commit != pull.facts.head)
            && incident.absent.is_none()
            && !unheard.any(|message| is_news_of(&message.kind, key))
            && pull.agent_answered(&key.problem, "").is_some()
    });
    let commit = &pull.facts.head;
    asked
        .map(|incident| Input::Incident {
            key: incident.key.clone(),
            input: IncidentInput::Addressed { commit: commit.clone() },
        })
        .collect()
}

fn claimed_by_its_owner(state: &State, pull: &Pull) -> Option<Input> {
    owner_of(state, pull).map(|session| claim(pull.id.clone(), session))
}

pub(super) fn claim(pull: PullId, session: SessionId) -> Input {
    Input::Pull { pull, input: PullInput::Claim { session } }
}
