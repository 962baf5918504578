//! What follows from what. The one place where one part of the state moves another.

use std::collections::VecDeque;

use crate::decide::{agent_of, orchestrator_of};
use crate::event::{AccountEvent, Event, HostEvent, Stamped};
use crate::evidence::{Activity, Reading};
use crate::incident::{Incident, IncidentEvent, IncidentInput, IncidentKey, Rung, Subject};
use crate::input::Input;
use crate::notice::Level;
use crate::project::{ProjectEvent, ProjectInput};
use crate::pull::{Pull, PullEvent, PullInput, owner_of, unclaimed_of};
use crate::queue::{QueueEvent, QueueInput, Rejection};
use crate::reaction::Action;
use crate::session::{
    HoldKind, MessageKind, NewMessage, Outcome, Phase, Role, Sender, Session, SessionEvent, SessionInput,
};
use crate::state::State;
use crate::task::TaskEvent;
use crate::{PullId, SessionId};

/// Adds the inputs that follow from what happened, in the state that it led to.
pub(crate) fn follow(state: &State, stamped: &Stamped, then: &mut VecDeque<Input>) {
    match &stamped.event {
        Event::Session(id, event) => session(state, *id, event, stamped.at, then),
        Event::Incident(key, event) => incident(state, key, event, then),
        Event::Pull(id, event) => pull(state, id, event, then),
        Event::Queue(_, event) => queue(state, event, then),
        Event::Task(_, TaskEvent::Seen { .. }) => then.push_back(Input::Schedule),
        Event::Task(id, TaskEvent::Closed {}) => {
            then.push_back(Input::Schedule);
            if let Some(waiting) = state.live_session_of(id).and_then(|id| state.sessions.get(&id))
                && matches!(waiting.phase, Phase::Queued { .. })
            {
                let stop = SessionInput::Stop { by: "ao".into(), why: format!("{id} was closed") };
                then.push_back(Input::Session { session: waiting.id, input: stop });
            }
        }
        Event::Account(account, AccountEvent::Limited { until }) => {
            for session in state.live().filter(|session| session.account() == account) {
                let why = format!("the provider's limit for `{account}` holds until {until}");
                then.push_back(held(session, HoldKind::Account, why));
            }
        }
        Event::Account(account, AccountEvent::Reset {}) => {
            for session in state.live().filter(|session| session.account() == account) {
                then.push_back(released(session, HoldKind::Account));
            }
            then.push_back(Input::Schedule);
        }
        Event::Project(id, ProjectEvent::Capped { why, .. }) => {
            for session in state.live_in(id) {
                then.push_back(held(session, HoldKind::ProjectBudget, why.clone()));
            }
            then.push_back(Input::Tell {
                level: Level::Action,
                subject: Subject::Project(id.clone()),
                key: format!("capped {id} {}", stamped.at),
                text: why.clone(), channel: None });
        }
        Event::Project(id, ProjectEvent::Uncapped {}) => {
            for session in state.live_in(id) {
                then.push_back(released(session, HoldKind::ProjectBudget));
            }
            then.push_back(Input::Schedule);
        }
        Event::Project(_, _) => then.push_back(Input::Schedule),
        Event::Host(HostEvent::Configured { .. } | HostEvent::MemoryEnough { .. }) => {
            then.push_back(Input::Schedule);
        }
        Event::Host(HostEvent::CensusDoubted { runtime, missing, expected }) => then.push_back(Input::Tell {
            level: Level::Warning,
            subject: Subject::Host,
            key: format!("doubted {runtime} {}", stamped.at.0 / 3_600_000),
            text: format!(
                "`{runtime}` says that {missing} of {expected} agents are gone at once; that is taken for a failed \
                 look, and nothing was ended"
            ), channel: None }),
        Event::Host(_) | Event::Notice(..) | Event::Errand(..) => {}
    }
}

fn session(
    state: &State,
    id: SessionId,
    event: &SessionEvent,
    at: crate::Timestamp,
    then: &mut VecDeque<Input>,
) {
    use SessionEvent as E;
    let Some(session) = state.sessions.get(&id) else {
        // Archived: what was about it is over.
        then.push_back(Input::Review(Subject::Session(id)));
        if let E::Archived { pulls } = event {
            then.extend(pulls.iter().map(|pull| Input::Review(Subject::Pull(pull.clone()))));
        }
        return;
    };
    let mut tell = |input: SessionInput| then.push_back(Input::Session { session: id, input });
    match event {
        E::Queued { .. } => {
            // A session that begins under a limit waits like those that were there before.
            if let Some(until) = state.accounts.get(session.account()) {
                let why = format!("the provider's limit for `{}` holds until {until}", session.account());
                tell(SessionInput::Hold { kind: HoldKind::Account, why });
            }
            then.extend(unclaimed_of(state, session).into_iter().map(|pull| claim(pull, id)));
            then.push_back(Input::Schedule);
        }
        E::Requeued { .. } => {
            then.push_back(Input::Schedule);
            then.push_back(Input::Review(Subject::Session(id)));
        }
        E::SignalSeen { signal } => {
            tell(SessionInput::Flush);
            if let Reading::Limited { until: Some(until) } = &signal.reading {
                let account = session.account().to_owned();
                then.push_back(Input::AccountLimited { account, until: *until });
            }
            let watched = matches!(session.judgement.activity, Activity::Unknown | Activity::NeedsInput);
            if session.activity_since == at || watched {
                then.push_back(Input::Review(Subject::Session(id)));
            }
        }
        E::Looked {} | E::LookFailed { .. } | E::Rejudged {} => {
            tell(SessionInput::Flush);
            then.push_back(Input::Review(Subject::Session(id)));
        }
        // Also when it only waits from now on: an interrupt may have waited for that.
        E::MessageQueued { .. } | E::Written { .. } | E::DeliveryPaused { .. } => tell(SessionInput::Flush),
        E::Accepted { .. } => {
            tell(SessionInput::Count);
            tell(SessionInput::Flush);
        }
        E::MessageWithdrawn { incident: Some(key), .. } => {
            then.push_back(Input::Incident { key: key.clone(), input: IncidentInput::Unsaid });
        }
        E::DeliveryFailed { delivery, why } => {
            tell(SessionInput::Flush);
            then.push_back(Input::Tell {
                level: Level::Action,
                subject: Subject::Session(id),
                key: format!("{id} delivery {delivery}"),
                text: format!(
                    "a message to `{}` was {why}; its text is kept in the outbox",
                    session.spec.name
                ),
                channel: None,
            });
        }
        E::TakenAfterAll { messages, .. } => then.push_back(Input::Tell {
            level: Level::Info,
            subject: Subject::Session(id),
            key: format!("{id} after all {messages:?}"),
            text: format!("a message to `{}` that was given up has been read after all", session.spec.name),
            channel: None,
        }),
        E::MessagesDropped { why } => then.push_back(Input::Tell {
            level: Level::Info,
            subject: Subject::Session(id),
            key: format!("{id} dropped {at}"),
            text: format!("messages to `{}` were not delivered: {why}", session.spec.name),
            channel: None,
        }),
        E::Launched { .. } => {
            tell(SessionInput::Flush);
            then.push_back(Input::Review(Subject::Session(id)));
        }
        E::Exited { .. } => {
            tell(SessionInput::Flush);
            then.push_back(Input::Schedule);
            then.push_back(Input::Review(Subject::Session(id)));
        }
        // The port that it gave back may do for another.
        E::PortsLeased { .. } => then.push_back(Input::Schedule),
        E::WentAstray { what } => then.push_back(Input::Tell {
            level: Level::Warning,
            subject: Subject::Session(id),
            key: format!("{id} astray {what}"),
            text: format!("`{}` has left its place: {what}", session.spec.name),
            channel: None,
        }),
        E::Stands { .. } => {
            then.extend(unclaimed_of(state, session).into_iter().map(|pull| claim(pull, id)));
        }
        E::NotAnswered { number, why } => then.push_back(Input::Tell {
            level: Level::Action,
            subject: Subject::Session(id),
            key: format!("{id} answer {number}"),
            text: format!("the answer to `{}` was not given: {why}", session.spec.name),
            channel: None,
        }),
        E::WorkspaceFailed { again_at: None, .. } | E::SetupFailed { .. } => {
            then.push_back(Input::Schedule);
            then.push_back(Input::Review(Subject::Session(id)));
        }
        E::Held { .. } | E::StopFailed { .. } | E::Stopping { .. } => {
            then.push_back(Input::Review(Subject::Session(id)));
        }
        E::Released { .. } => {
            tell(SessionInput::Flush);
            then.push_back(Input::Schedule);
            then.push_back(Input::Review(Subject::Session(id)));
            then.extend(session.pulls.iter().map(|pull| Input::Review(Subject::Pull(pull.clone()))));
        }
        E::Spent { .. } => then.push_back(Input::Project {
            project: session.spec.project.clone(),
            input: ProjectInput::CountSpend,
        }),
        E::BudgetMarked { mark } => tell(SessionInput::Send(NewMessage {
            from: Sender::Daemon,
            kind: MessageKind::Text,
            body: format!(
                "Your budget is nearly spent ({mark}). Commit what you have and sum up what is left."
            ),
            interrupt: false,
            key: Some(format!("mark {mark}")),
        })),
        E::Ended { outcome } => {
            let merged = matches!(outcome, Outcome::Merged { .. }) && state.settings.remove_merged;
            // What a reviewer had was only to be read.
            if merged || session.spec.role == Role::Reviewer {
                tell(SessionInput::Cleanup);
            }
            then.push_back(Input::Schedule);
            then.push_back(Input::Review(Subject::Session(id)));
        }
        _ => {}
    }
}

fn incident(state: &State, key: &IncidentKey, event: &IncidentEvent, then: &mut VecDeque<Input>) {
    // Not true any more: what has not been said yet need not be said.
    if let IncidentEvent::Vanished { .. } | IncidentEvent::Closed {} = event {
        let told = [agent_of(state, &key.subject), orchestrator_of(state, &key.subject)];
        then.extend(told.into_iter().flatten().map(|told| Input::Session {
            session: told.id,
            input: SessionInput::Withdraw { incident: key.clone() },
        }));
        return;
    }
    let Some(incident) = state.incidents.get(key) else { return };
    match event {
        IncidentEvent::Acted { action: Action::SendToAgent, told, .. } => {
            if let Some(agent) = agent_of(state, &key.subject) {
                // If it has not even heard the last news of this, it gets the whole.
                let unheard = agent.outbox.waiting.iter().any(
                    |message| matches!(&message.kind, MessageKind::News { incident } if incident == key),
                );
                let since = match &key.subject {
                    Subject::Pull(pull) if !unheard => state.pulls.get(pull).and_then(|pull| {
                        pull.news_since(&key.kind, &key.problem, told.as_deref().unwrap_or_default())
                    }),
                    _ => None,
                };
                // Nothing is new, but the agent has had its time: it hears the whole once more.
                let detail = since.unwrap_or_else(|| incident.detail.clone());
                then.push_back(news(state, agent, incident, &detail));
            }
        }
        IncidentEvent::Acted { action: Action::Merge, .. } => {
            if let Subject::Pull(id) = &key.subject
                && let Some(pull) = state.pulls.get(id)
            {
                then.push_back(Input::Queue {
                    project: id.project.clone(),
                    input: QueueInput::Enqueue {
                        pull: id.clone(),
                        head: pull.facts.head.clone(),
                        priority: 0,
                    },
                });
            }
        }
        IncidentEvent::Escalated { to: Rung::Orchestrator, why, .. } => {
            if let Some(orchestrator) = orchestrator_of(state, &key.subject) {
                let detail = format!("{} ({why})\n{}", key.subject, incident.detail);
                then.push_back(news(state, orchestrator, incident, &detail));
            }
        }
        IncidentEvent::Escalated { to: Rung::Person, why, .. } => {
            let reaction = state.reaction(&key.kind, &key.subject);
            then.push_back(Input::Tell {
                level: reaction.level,
                subject: key.subject.clone(),
                key: format!("{key} {}", incident.opened),
                text: escalation(state, incident, why),
                channel: reaction.channel,
            });
        }
        _ => {}
    }
}

fn pull(state: &State, id: &PullId, event: &PullEvent, then: &mut VecDeque<Input>) {
    let queue = |input| Input::Queue { project: id.project.clone(), input };
    if let PullEvent::Released { session } = event {
        let unlinked = SessionInput::PullUnlinked { pull: id.clone() };
        then.push_back(Input::Session { session: *session, input: unlinked });
    }
    let Some(pull) = state.pulls.get(id) else {
        then.push_back(queue(QueueInput::Remove { pull: id.clone(), why: "it is over".into() }));
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
            then.extend(claimed_by_its_owner(state, pull));
        }
        // Whoever was set to review it has done so.
        PullEvent::ReviewGiven { review, .. } => {
            let reviewer = state.session_named(&review.author.login);
            let reviewer = reviewer.filter(|session| session.reads() == Some(id) && session.is_live());
            then.extend(reviewer.map(|session| Input::Session {
                session: session.id,
                input: SessionInput::Stop { by: "ao".into(), why: format!("it has reviewed {id}") },
            }));
        }
        PullEvent::BranchRenamed { .. } => then.extend(claimed_by_its_owner(state, pull)),
        PullEvent::Opened { .. } | PullEvent::BaseMoved { .. } | PullEvent::Retargeted { .. } => {
            let lands_here = state
                .projects
                .get(&id.project)
                .is_some_and(|known| known.default_branch == pull.facts.base_branch);
            if lands_here {
                then.push_back(queue(QueueInput::BaseMoved { base: pull.facts.base.clone() }));
            }
            then.extend(claimed_by_its_owner(state, pull));
        }
        PullEvent::Closed {} => {
            then.push_back(queue(QueueInput::Remove { pull: id.clone(), why: "it was closed".into() }));
        }
        PullEvent::Merged { .. } => {
            then.push_back(queue(QueueInput::Remove { pull: id.clone(), why: "it was merged".into() }));
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

fn claimed_by_its_owner(state: &State, pull: &Pull) -> Option<Input> {
    owner_of(state, pull).map(|session| claim(pull.id.clone(), session))
}

fn claim(pull: PullId, session: SessionId) -> Input {
    Input::Pull { pull, input: PullInput::Claim { session } }
}

fn queue(state: &State, event: &QueueEvent, then: &mut VecDeque<Input>) {
    let QueueEvent::Rejected { pull: id, head, reason } = event else { return };
    let what = match reason {
        Rejection::Red { output } => format!("The checks failed on what would have landed:\n{output}"),
        Rejection::Conflict { files } => format!("It no longer merges cleanly:\n{}", files.join("\n")),
        Rejection::Broken { why } => format!("It could not be tested: {why}"),
    };
    let text = format!("{id} at {head} left the merge queue. {what}");
    let subject = Subject::Pull(id.clone());
    let owner = agent_of(state, &subject).filter(|owner| owner.is_live());
    match (owner, reason) {
        // The change is at fault, and there is somebody to mend it.
        (Some(owner), Rejection::Red { .. } | Rejection::Conflict { .. }) => then.push_back(Input::Session {
            session: owner.id,
            input: SessionInput::Send(NewMessage {
                from: Sender::Daemon,
                kind: MessageKind::Text,
                body: bounded(text),
                interrupt: false,
                key: Some(format!("rejected {id} {head}")),
            }),
        }),
        _ => then.push_back(Input::Tell {
            level: Level::Action,
            subject,
            key: format!("rejected {id} {head}"),
            text,
            channel: None,
        }),
    }
}

/// Keeps the end, where a failing run says what failed.
fn bounded(text: String) -> String {
    const MOST: usize = 16 * 1024;
    if text.len() <= MOST {
        return text;
    }
    let cut = (text.len() - MOST..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("[…]{}", &text[cut..])
}

fn held(session: &Session, kind: HoldKind, why: String) -> Input {
    Input::Session { session: session.id, input: SessionInput::Hold { kind, why } }
}

fn released(session: &Session, kind: HoldKind) -> Input {
    Input::Session { session: session.id, input: SessionInput::Release { kind } }
}

/// What an agent is told about an incident. A reaction without words of its own uses the kind's.
fn news(state: &State, to: &Session, incident: &Incident, detail: &str) -> Input {
    let reaction = state.reaction(&incident.key.kind, &incident.key.subject);
    let lead = reaction.message.unwrap_or_else(|| incident.key.kind.default_message().to_owned());
    let body = bounded(format!("{lead}\n{detail}"));
    Input::Session {
        session: to.id,
        input: SessionInput::Send(NewMessage {
            from: Sender::Daemon,
            kind: MessageKind::News { incident: incident.key.clone() },
            body,
            interrupt: false,
            key: None,
        }),
    }
}

/// What a person is told: whom it is about, by the name that people use, what it is, and what was tried.
fn escalation(state: &State, incident: &Incident, why: &str) -> String {
    let whom = match &incident.key.subject {
        Subject::Session(id) => match state.sessions.get(id) {
            Some(session) => format!("`{}`", session.spec.name),
            None => id.to_string(),
        },
        other => other.to_string(),
    };
    let what = incident.key.kind.default_message();
    match incident.acted {
        0 => format!("{whom}: {what} {}", incident.detail),
        _ => format!("{whom}: {what} {} ({why})", incident.detail),
    }
}
