//! Consequences of the events of an incident: messages, notices and jobs.

use std::collections::VecDeque;

use super::{bounded, message};
use crate::decide::{agent_of, orchestrator_of};
use crate::incident::{
    EscalationLevel, FailureDoubt, Incident, IncidentEvent, IncidentKey, ProblemId, Subject,
};
use crate::input::Input;
use crate::job::{IncidentReaction, JobOrder, ReactionRound, Requester};
use crate::notice::NoticeInput;
use crate::order::ThreadReply;
use crate::project::ProjectInput;
use crate::pull::Pull;
use crate::queue::QueueInput;
use crate::reaction::{ReactionAction, context};
use crate::session::{MessageKind, Session, SessionInput};
use crate::state::State;
use crate::{Commit, ProjectId};

pub(super) fn follow(state: &State, key: &IncidentKey, event: &IncidentEvent, then: &mut VecDeque<Input>) {
    match event {
        // A past custom event was true all the same.
        IncidentEvent::Closed {} if key.kind.is_moment() => return,
        // No longer true: messages that were not sent yet are withdrawn.
        IncidentEvent::Vanished { .. } | IncidentEvent::Closed {} => {
            let told = [agent_of(state, &key.subject), orchestrator_of(state, &key.subject)];
            then.extend(told.into_iter().flatten().map(|told| Input::Session {
                session: told.id,
                input: SessionInput::Withdraw { incident: key.clone() },
            }));
            // A person is notified even of a problem that was absent for a moment: once, in any case.
            if let IncidentEvent::Closed {} = event {
                then.extend(state.notices_about(key).map(|notice| Input::Notice {
                    notice,
                    input: NoticeInput::Withdraw { why: "it is over".into() },
                }));
            }
            return;
        }
        _ => {}
    }
    let Some(incident) = state.incidents.get(key) else { return };
    match event {
        IncidentEvent::Acted { action, told, .. } => {
            act(state, incident, *action, told.as_deref().unwrap_or_default(), then);
        }
        IncidentEvent::Doubted { doubt, .. } => find_out(state, incident, doubt, then),
        IncidentEvent::Answered { revision, commit } => {
            then.extend(answer(state, incident, revision, commit));
        }
        IncidentEvent::Escalated { to: EscalationLevel::Orchestrator, why, .. } => {
            if let Some(orchestrator) = orchestrator_of(state, &key.subject) {
                then.push_back(message::to_orchestrator(state, orchestrator, incident, why));
            }
        }
        IncidentEvent::Escalated { to: EscalationLevel::Person, why, .. } => {
            then.push_back(message::to_person(state, incident, why));
        }
        _ => {}
    }
}

fn act(state: &State, incident: &Incident, action: ReactionAction, told: &str, then: &mut VecDeque<Input>) {
    let key = &incident.key;
    let agent = agent_of(state, &key.subject).filter(|agent| agent.is_live());
    let pull = pull_of(state, key);
    match (action, agent) {
        (ReactionAction::SendToAgent | ReactionAction::SpawnAgent, Some(agent)) => {
            let detail = news_of(state, incident, agent, told);
            then.push_back(message::to_agent(state, agent, incident, &detail));
        }
        (ReactionAction::SpawnAgent, None) => {
            let Some(project) = project_of(state, &key.subject) else { return };
            let reaction = state.reaction(&key.kind, &key.subject);
            let order = JobOrder::Spawn {
                project: project.clone(),
                pull: pull.map(|pull| pull.id.clone()),
                agent: reaction.agent,
                title: match pull {
                    Some(pull) => format!("{}: {}", key.kind, pull.facts.title),
                    None => format!("{} in {project}", key.kind),
                },
                prompt: bounded(message::body(state, incident, &incident.detail)),
            };
            then.push_back(ordered(incident, order));
        }
        (ReactionAction::Merge, _) => then.extend(pull.map(|pull| Input::Queue {
            project: pull.id.project.clone(),
            input: QueueInput::Enqueue { pull: pull.id.clone(), head: pull.facts.head.clone(), priority: 0 },
        })),
        (ReactionAction::RerunChecks, _) => {
            for (check, failure) in pull.iter().flat_map(|pull| &pull.failures) {
                let failed = pull.and_then(|pull| pull.runs.get(check)).map_or(1, |runs| runs.failed);
                then.extend(
                    pull.map(|pull| {
                        rerun(incident, pull, check, &failure.commit, failed.max(incident.acted))
                    }),
                );
            }
        }
        (ReactionAction::Rebase, _) => then.extend(pull.map(|pull| {
            let (head, base) = (pull.facts.head.clone(), pull.facts.base.clone());
            ordered(incident, JobOrder::Rebase { pull: pull.id.clone(), head, base })
        })),
        (ReactionAction::Run, agent) => {
            let reaction = state.reaction(&key.kind, &key.subject);
            let (Some(project), Some(command)) = (project_of(state, &key.subject), reaction.command) else {
                return;
            };
            let order = JobOrder::Run {
                project,
                session: agent.map(|agent| agent.id),
                command,
                timeout: reaction.timeout,
                document: context(state, incident).to_string(),
            };
            // One at a time: commands do not expect a second one beside the first.
            then.push_back(Input::Order {
                key: format!("run {} {}", incident.key, incident.opened),
                order: Box::new(order),
                // The result applies to the incident's revision at completion time, so no revision is recorded.
                requester: reacting(
                    incident,
                    ReactionRound { opened: incident.opened, revision: None, acted: None },
                ),
            });
        }
        _ => {}
    }
}

/// Returns the news of a problem that its agent has not got yet.
fn news_of(state: &State, incident: &Incident, agent: &Session, told: &str) -> String {
    let key = &incident.key;
    // If the last news of this is still unsent, the agent gets the whole.
    let mut waiting = agent.outbox.waiting.iter();
    let unheard = waiting.any(|message| is_news_of(&message.kind, key));
    let since = pull_of(state, key)
        .filter(|_| !unheard)
        .and_then(|pull| pull.news_since(&key.kind, &key.problem, told));
    // There is no news, but the agent has had its time: it gets the whole again.
    since.unwrap_or_else(|| incident.detail.clone())
}

pub(super) fn is_news_of(kind: &MessageKind, key: &IncidentKey) -> bool {
    matches!(kind, MessageKind::News { incident } if incident == key)
}

/// Runs the check again and checks the base, both at once, because either may take long.
fn find_out(state: &State, incident: &Incident, doubt: &FailureDoubt, then: &mut VecDeque<Input>) {
    let Some(pull) = pull_of(state, &incident.key) else { return };
    let Some(check) = pull.failure(&incident.key.problem) else { return };
    // A person is notified of a red base once it holds up a pull request.
    if let FailureDoubt::BaseRed {} = doubt {
        then.push_back(Input::Review(Subject::Project(pull.id.project.clone())));
    }
    if let FailureDoubt::Chance { run } | FailureDoubt::BaseMended { run } = doubt {
        then.push_back(rerun(incident, pull, &check.name, &check.commit, *run));
    }
    if let FailureDoubt::Chance { .. } | FailureDoubt::Base {} = doubt {
        then.push_back(Input::Project {
            project: pull.id.project.clone(),
            input: ProjectInput::AskBase {
                branch: pull.facts.base_branch.clone(),
                check: check.name.clone(),
                commit: pull.facts.base.clone(),
            },
        });
    }
}

fn rerun(incident: &Incident, pull: &Pull, check: &str, commit: &Commit, number: u32) -> Input {
    let order =
        JobOrder::Rerun { pull: pull.id.clone(), check: check.to_owned(), commit: commit.clone(), number };
    Input::Order {
        key: format!("rerun {} {check} {commit} {number}", pull.id),
        order: Box::new(order),
        requester: of_revision(incident, &incident.revision),
    }
}

/// Replies in the thread with the commit that addresses it, unless the agent has replied there itself.
fn answer(state: &State, incident: &Incident, told: &str, commit: &Commit) -> Option<Input> {
    let key = &incident.key;
    let pull = pull_of(state, key)?;
    let resolve = state.reaction(&key.kind, &key.subject).resolve;
    let ProblemId::Thread(thread) = &key.problem else { return None };
    let spoke = pull.agent_answered(&key.problem, told)?;
    if spoke && !resolve {
        return None;
    }
    let short: String = commit.as_str().chars().take(10).collect();
    let text = match &pull.facts.head_title {
        _ if spoke => String::new(),
        Some(title) => format!("Addressed in {short}: {}", crate::outside::one_line(title)),
        None => format!("Addressed in {short}."),
    };
    let mark = format!("answer {} {} {told}", pull.id, key.problem);
    let reply =
        ThreadReply { pull: pull.id.clone(), thread: thread.clone(), text, resolve, key: mark.clone() };
    Some(Input::Order {
        key: mark,
        order: Box::new(JobOrder::Reply(reply)),
        requester: of_revision(incident, told),
    })
}

/// Returns one job for each action on a problem.
fn ordered(incident: &Incident, order: JobOrder) -> Input {
    Input::Order {
        key: format!("{} {} {}", incident.key, incident.opened, incident.acted),
        order: Box::new(order),
        requester: reacting(
            incident,
            ReactionRound {
                opened: incident.opened,
                revision: Some(incident.revision.clone()),
                acted: Some(incident.acted),
            },
        ),
    }
}

fn of_revision(incident: &Incident, revision: &str) -> Requester {
    reacting(
        incident,
        ReactionRound { opened: incident.opened, revision: Some(revision.to_owned()), acted: None },
    )
}

fn reacting(incident: &Incident, round: ReactionRound) -> Requester {
    Requester::Incident(IncidentReaction { to: incident.key.clone(), round })
}

fn pull_of<'a>(state: &'a State, key: &IncidentKey) -> Option<&'a Pull> {
    match &key.subject {
        Subject::Pull(id) => state.pulls.get(id).map(|pull| &**pull),
        _ => None,
    }
}

fn project_of(state: &State, subject: &Subject) -> Option<ProjectId> {
    match subject {
        Subject::Pull(id) => Some(id.project.clone()),
        Subject::Project(id) => Some(id.clone()),
        Subject::Session(id) => state.sessions.get(id).map(|session| session.spec.project.clone()),
        Subject::Host => None,
    }
}
