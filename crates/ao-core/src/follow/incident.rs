//! What follows from what happened to an incident: who is told, what is done.

use std::collections::VecDeque;

use super::bounded;
use crate::decide::{agent_of, orchestrator_of};
use crate::incident::{Incident, IncidentEvent, IncidentKey, IncidentKind, Rung, Subject};
use crate::input::Input;
use crate::notice::NoticeInput;
use crate::queue::QueueInput;
use crate::reaction::Action;
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
        // A person is told of what has gone only for a moment all the same: it is told once, whatever comes of it.
        if let IncidentEvent::Closed {} = event {
            let told = state.notices.values().filter(|notice| notice.incident.as_ref() == Some(key));
            then.extend(told.map(|notice| Input::Notice {
                notice: notice.id,
                input: NoticeInput::Withdraw { why: "it is over".into() },
            }));
        }
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
    let told = match incident.acted {
        0 => format!("{whom}: {what} {}", incident.detail),
        _ => format!("{whom}: {what} {} ({why})", incident.detail),
    };
    match (&incident.key.kind, agent_of(state, &incident.key.subject)) {
        (IncidentKind::AgentNeedsInput, Some(session)) => {
            format!("{told}\n{}", how_to_answer(&session.spec.name, &incident.detail))
        }
        _ => told,
    }
}

/// The command that answers a dialog, with the choices that it numbers, if it does.
fn how_to_answer(session: &str, dialog: &str) -> String {
    let choices: Vec<&str> = dialog.lines().filter_map(choice).collect();
    let answers = match &choices[..] {
        [] => "yes|no|TEXT".to_owned(),
        choices => choices.join("|"),
    };
    format!("Answer with: ao answer {session} {answers}")
}

/// The number of a choice, such as `2` in `❯ 2. No, and say why`.
fn choice(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '❯' | '>' | '│' | '*'));
    let (number, rest) = line.split_at(line.find(|c: char| !c.is_ascii_digit())?);
    let numbers = !number.is_empty() && number.len() < 3 && rest.starts_with(['.', ')']);
    numbers.then_some(number)
}
