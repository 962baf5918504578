//! What would have been done, read off the events of the core.

use ao_core::errand::{ErrandEvent, Order};
use ao_core::incident::{EscalationLevel, IncidentEvent, Subject};
use ao_core::notice::NoticeEvent;
use ao_core::queue::QueueEvent;
use ao_core::session::{MessageKind, Sender, SessionEvent};
use ao_core::{Event, State, Timestamp};
use serde::Serialize;

/// One thing that would have been done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Deed {
    #[serde(serialize_with = "as_millis")]
    pub(super) at: Timestamp,
    /// Whom it is about, by the name that people use.
    pub(super) about: String,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "deed")]
pub(super) enum What {
    /// Something was done about a problem, and why.
    Reaction { event: String, action: String, why: String },
    /// Nothing yet: it may be chance, or the base's fault.
    Doubt { event: String },
    /// Somebody else was asked.
    Escalation { event: String, to: String, why: String },
    /// An agent was told something.
    Message { text: String },
    /// People were told something. `project` decides by which channels.
    Notice { level: String, project: Option<String>, channel: Option<String>, text: String },
    /// Something was run, rebased, run again or answered.
    Errand { order: String },
    /// A pull request was put into the merge queue.
    Merge {},
    /// A session got no slot at once.
    Wait { why: String },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn as_millis<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.0)
}

/// What an event tells of what was done, if it does.
pub(super) fn deed(state: &State, at: Timestamp, event: &Event) -> Option<Deed> {
    let (about, what) = match event {
        Event::Incident(key, event) => {
            let event_name = key.kind.to_string();
            let what = match event {
                IncidentEvent::Acted { action, .. } => What::Reaction {
                    event: event_name,
                    action: word(action),
                    why: state.incidents.get(key).map(|incident| line(&incident.detail)).unwrap_or_default(),
                },
                IncidentEvent::Doubted { .. } => What::Doubt { event: event_name },
                IncidentEvent::Escalated { to, why, .. } => What::Escalation {
                    event: event_name,
                    to: match to {
                        EscalationLevel::Orchestrator => "orchestrator".into(),
                        _ => "person".into(),
                    },
                    why: line(why),
                },
                _ => return None,
            };
            (named(state, &key.subject), what)
        }
        Event::Session(id, SessionEvent::MessageQueued { message, .. })
            if message.from == Sender::Daemon && message.kind != MessageKind::Task =>
        {
            (named(state, &Subject::Session(*id)), What::Message { text: message.body.clone() })
        }
        Event::Notice(_, NoticeEvent::Raised { notice }) => {
            let what = What::Notice {
                level: word(&notice.level),
                project: project_of(state, &notice.subject),
                channel: notice.channel.clone(),
                text: notice.text.clone(),
            };
            (named(state, &notice.subject), what)
        }
        Event::Errand(_, ErrandEvent::Wanted { errand }) => {
            let (about, order) = ordered(&errand.order)?;
            (about, What::Errand { order })
        }
        Event::Queue(_, QueueEvent::Enqueued { pull, .. }) => (pull.to_string(), What::Merge {}),
        _ => return None,
    };
    Some(Deed { at, about, what })
}

fn ordered(order: &Order) -> Option<(String, String)> {
    Some(match order {
        Order::Spawn { project, title, .. } => (project.to_string(), format!("starts an agent: {title}")),
        Order::Assign { task, why, .. } => (task.to_string(), format!("begins the task: {why}")),
        Order::Settle { pull, .. } => (pull.to_string(), "closes the issues that it settles".into()),
        Order::Rerun { pull, check, .. } => (pull.to_string(), format!("runs the check `{check}` again")),
        Order::Rebase { pull, .. } => (pull.to_string(), "rebases it".into()),
        Order::Run { project, command, .. } => (project.to_string(), format!("runs `{command}`")),
        Order::Reply { pull, thread, .. } => (pull.to_string(), format!("answers the thread {thread}")),
        Order::Hook { project, point, .. } => {
            (project.to_string(), format!("runs the hooks `{}`", word(point)))
        }
        // Asked in doubt, and told there.
        Order::CheckBase { .. } => return None,
    })
}

/// Whom a problem is about, by the name that people use.
pub(super) fn named(state: &State, subject: &Subject) -> String {
    match subject {
        Subject::Session(id) => match state.sessions.get(id) {
            Some(session) => session.spec.name.clone(),
            None => id.to_string(),
        },
        other => other.to_string(),
    }
}

fn project_of(state: &State, subject: &Subject) -> Option<String> {
    match subject {
        Subject::Session(id) => state.sessions.get(id).map(|session| session.spec.project.to_string()),
        Subject::Pull(id) => Some(id.project.to_string()),
        Subject::Project(id) => Some(id.to_string()),
        Subject::Host => None,
    }
}

/// A value as it is written in files.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

fn line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
