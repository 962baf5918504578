//! What an event says, in a few words.

use ao_core::Event;
use ao_core::evidence::{Reading, Signal};
use ao_core::incident::IncidentEvent;
use ao_core::notice::NoticeEvent;
use ao_core::project::ProjectEvent;
use ao_core::session::SessionEvent;
use ao_core::task::TaskEvent;

/// The part of an event that a reader of the timeline wants to know; the log has all of it.
pub(super) fn describe(event: &Event) -> String {
    match event {
        Event::Project(id, ProjectEvent::Configured { config }) => {
            format!("`{id}`, default branch `{}`", config.default_branch)
        }
        Event::Task(id, TaskEvent::Seen { facts }) => format!("{id}: {}", facts.title),
        Event::Session(_, event) => session(event),
        Event::Incident(key, IncidentEvent::Opened { detail, .. }) => format!("{}: {detail}", key.kind),
        Event::Incident(_, IncidentEvent::Escalated { why, .. }) => why.clone(),
        Event::Incident(key, _) => key.kind.to_string(),
        Event::Notice(_, NoticeEvent::Raised { notice }) => notice.text.clone(),
        _ => String::new(),
    }
}

fn session(event: &SessionEvent) -> String {
    use SessionEvent as E;
    match event {
        E::Queued { spec } => format!("`{}` on branch `{}`", spec.name, spec.branch),
        E::Admitted { attempt, .. } => format!("has a slot, attempt {attempt}"),
        E::WorkspaceReady { base, .. } => format!("from {}", base.get(..8).unwrap_or(base)),
        E::Launching { resume: true, .. } => "its conversation is resumed".into(),
        E::Launching { .. } => "with a new conversation".into(),
        E::Stopping { .. } => "all its processes are to end".into(),
        E::RemovalWanted {} => "if the gate allows it".into(),
        E::Launched { process } => format!("process {}", process.0),
        E::SignalSeen { signal } => seen(signal),
        E::MessageQueued { message, .. } => format!("#{}: {}", message.no, message.body),
        E::DeliveryStarted { delivery } => format!("delivery {}", delivery.no),
        E::Written { delivery, .. } => format!("delivery {delivery}, not proven yet"),
        E::Accepted { delivery, .. } => format!("delivery {delivery}, the agent has shown our text"),
        E::DeliveryFailed { why, .. } | E::DeliveryPaused { why, .. } => why.clone(),
        E::Spent { spend } => format!("turns {}", spend.turns),
        E::Ended { outcome } => outcome.to_string(),
        E::WorkspaceKept { reasons } => {
            reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        E::WorkspaceRemoved { rescue } => {
            rescue.as_ref().map(|rescue| format!("its last state is at {rescue}")).unwrap_or_default()
        }
        E::WorkspaceFailed { why, .. }
        | E::LaunchFailed { why, .. }
        | E::Retrying { why, .. }
        | E::Exited { why, .. }
        | E::Requeued { why } => why.clone(),
        _ => String::new(),
    }
}

fn seen(signal: &Signal) -> String {
    let source = serde_json::to_value(signal.source).ok();
    let source = source.as_ref().and_then(|source| source.as_str()).unwrap_or_default();
    let reading = match &signal.reading {
        Reading::Started => "it has come up".to_owned(),
        Reading::Working { doing } => format!("working, {doing}"),
        Reading::Idle => "idle".to_owned(),
        Reading::Asking { question } => format!("asking, {question}"),
        Reading::Alive { busy: false } => "the process lives".to_owned(),
        Reading::Alive { busy: true } => "the process lives and is busy".to_owned(),
        other => format!("{other:?}"),
    };
    format!("{source}: {reading}")
}
