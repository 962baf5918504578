//! What follows from what happened to an incident: who is told, what is done.

use std::collections::VecDeque;

use super::bounded;
use crate::decide::{agent_of, orchestrator_of};
use crate::incident::{Incident, IncidentEvent, IncidentKey, Rung, Subject};
use crate::input::Input;
use crate::queue::QueueInput;
use crate::reaction::{Action, Reaction, words};
use crate::session::{MessageKind, NewMessage, Sender, Session, SessionInput};
use crate::state::State;

pub(super) fn follow(state: &State, key: &IncidentKey, event: &IncidentEvent, then: &mut VecDeque<Input>) {
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
        IncidentEvent::Acted { action: Action::SendToAgent | Action::SpawnAgent, told, .. } => {
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
                text: escalation(state, incident, &reaction, why),
                channel: reaction.channel,
            });
        }
        _ => {}
    }
}

/// What an agent is told about an incident. A reaction without words of its own uses the kind's.
fn news(state: &State, to: &Session, incident: &Incident, detail: &str) -> Input {
    let reaction = state.reaction(&incident.key.kind, &incident.key.subject);
    // The words are about the attempt that was just begun, and count those before it.
    let before = Incident { acted: incident.acted.saturating_sub(1), ..incident.clone() };
    let body = bounded(words::said(state, &before, reaction.message.as_deref(), detail));
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
fn escalation(state: &State, incident: &Incident, reaction: &Reaction, why: &str) -> String {
    let whom = match &incident.key.subject {
        Subject::Session(id) => match state.sessions.get(id) {
            Some(session) => format!("`{}`", session.spec.name),
            None => id.to_string(),
        },
        other => other.to_string(),
    };
    // Words that were meant for an agent are not for whoever is asked after it.
    let for_agent = matches!(reaction.action, Action::SendToAgent | Action::SpawnAgent);
    let what = match reaction.message.as_deref().filter(|_| !for_agent) {
        Some(message) => bounded(words::said(state, incident, Some(message), &incident.detail)),
        None => format!("{} {}", incident.key.kind.default_message(), incident.detail),
    };
    match incident.acted {
        0 => format!("{whom}: {what}"),
        _ => format!("{whom}: {what} ({why})"),
    }
}
