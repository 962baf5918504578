//! Actions that would have been taken, derived from the events of the core.

use ao_core::incident::{EscalationLevel, IncidentEvent, Subject};
use ao_core::job::{JobEvent, JobOrder};
use ao_core::notice::NoticeEvent;
use ao_core::queue::QueueEvent;
use ao_core::session::{MessageKind, Sender, SessionEvent};
use ao_core::{Event, State, Timestamp};
use serde::Serialize;

/// An action that would have been taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SimulatedAction {
    #[serde(serialize_with = "as_millis")]
    pub(super) at: Timestamp,
    /// The name of its session, pull request or project.
    pub(super) about: String,
    #[serde(flatten)]
    pub(super) what: ActionKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "deed")]
pub(super) enum ActionKind {
    /// A reaction to an incident, and the reason.
    Reaction { event: String, action: String, why: String },
    /// No action yet: the failure may be flaky, or the base's.
    Doubt { event: String },
    /// An escalation to the next level.
    Escalation { event: String, to: String, why: String },
    /// A message to an agent.
    Message { text: String },
    /// A notice to people. `project` decides the channels.
    Notice { level: String, project: Option<String>, channel: Option<String>, text: String },
    /// A job: a command, a rebase, another run or an answer.
    Job { order: String },
    /// A pull request was queued.
    Merge {},
    /// A session did not get a slot at once.
    Wait { why: String },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn as_millis<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.0)
}

/// Returns the action that an event records, if it records one.
pub(super) fn deed(state: &State, at: Timestamp, event: &Event) -> Option<SimulatedAction> {
    let (about, what) = match event {
        Event::Incident(key, event) => {
            let event_name = key.kind.to_string();
            let what = match event {
                IncidentEvent::Acted { action, .. } => ActionKind::Reaction {
                    event: event_name,
                    action: word(action),
                    why: state.incidents.get(key).map(|incident| line(&incident.detail)).unwrap_or_default(),
                },
                IncidentEvent::Doubted { .. } => ActionKind::Doubt { event: event_name },
                IncidentEvent::Escalated { to, why, .. } => ActionKind::Escalation {
                    event: event_name,
                    to: match to {
                        EscalationLevel::Orchestrator => "orchestrator".into(),
                        _ => "person".into(),
                    },
                    why: line(why),
                },
                _ => return None,
            };
            (state.subject_name(&key.subject), what)
        }
        Event::Session(id, SessionEvent::MessageQueued { message, .. })
            if message.from == Sender::Daemon && message.kind != MessageKind::Task =>
        {
            (state.name_of(*id), ActionKind::Message { text: message.body.clone() })
        }
        Event::Notice(_, NoticeEvent::Raised { notice }) => {
            let what = ActionKind::Notice {
                level: word(&notice.level),
                project: project_of(state, &notice.subject),
                channel: notice.channel.clone(),
                text: notice.text.clone(),
            };
            (state.subject_name(&notice.subject), what)
        }
        Event::Job(_, JobEvent::Wanted { job }) => {
            let (about, order) = ordered(&job.order)?;
            (about, ActionKind::Job { order })
        }
        Event::Queue(_, QueueEvent::Enqueued { pull, .. }) => (pull.to_string(), ActionKind::Merge {}),
        _ => return None,
    };
    Some(SimulatedAction { at, about, what })
}

fn ordered(order: &JobOrder) -> Option<(String, String)> {
    Some(match order {
        JobOrder::Spawn { project, title, .. } => (project.to_string(), format!("starts an agent: {title}")),
        JobOrder::Assign { task, why, .. } => (task.to_string(), format!("starts the task: {why}")),
        JobOrder::Settle { pull, .. } => (pull.to_string(), "closes the issues that it settles".into()),
        JobOrder::Rerun { pull, check, .. } => (pull.to_string(), format!("runs the check `{check}` again")),
        JobOrder::Rebase { pull, .. } => (pull.to_string(), "rebases it".into()),
        JobOrder::Run { project, command, .. } => (project.to_string(), format!("runs `{command}`")),
        JobOrder::Reply(reply) => (reply.pull.to_string(), format!("answers the thread {}", reply.thread)),
        JobOrder::Hook { project, point, .. } => {
            (project.to_string(), format!("runs the hooks `{}`", word(point)))
        }
        // Part of an open doubt, which is shown instead.
        JobOrder::CheckBase { .. } => return None,
    })
}

fn project_of(state: &State, subject: &Subject) -> Option<String> {
    match subject {
        Subject::Session(id) => state.sessions.get(id).map(|session| session.spec.project.to_string()),
        Subject::Pull(id) => Some(id.project.to_string()),
        Subject::Project(id) => Some(id.to_string()),
        Subject::Host => None,
    }
}

/// Returns a value as it is written in files.
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
