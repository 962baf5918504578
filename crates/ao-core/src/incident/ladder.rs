//! The ladder: what is done next about a problem, by whom, and when that ends.

use super::{Incident, IncidentEvent, IncidentInput, IncidentKey, Rung};
use crate::Timestamp;
use crate::reaction::{Action, Reaction};
use crate::settings::Settings;

/// Who could help now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Helpers {
    /// There is an agent to tell, and it may take a turn.
    pub(crate) agent: bool,
    pub(crate) orchestrator: bool,
}

pub(crate) fn decide(
    key: &IncidentKey,
    known: Option<&Incident>,
    reaction: &Reaction,
    settings: &Settings,
    now: Timestamp,
    helpers: Helpers,
    input: IncidentInput,
) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    match (known, input) {
        (None, IncidentInput::Seen(problem)) => {
            let opened = Incident::opened(key, &problem.revision, &problem.detail, now);
            let mut events = vec![E::Opened { revision: problem.revision, detail: problem.detail }];
            events.extend(act(&opened, reaction, now, helpers));
            events
        }
        (None, _) => vec![],
        (Some(incident), IncidentInput::Seen(problem)) => {
            let mut events = Vec::new();
            let mut now_known = incident.clone();
            if incident.absent.is_some() {
                // The ladder goes on where it stood, and with the patience it had; whoever was told is not told again.
                let due = matches!(incident.rung, Rung::Agent | Rung::Orchestrator)
                    .then(|| now.max(incident.since + reaction.escalate_after));
                events.push(E::Returned { due });
            }
            if problem.revision != incident.revision {
                events.push(E::Revised { revision: problem.revision, detail: problem.detail });
            }
            for event in &events {
                evolve(&mut now_known, event, now);
            }
            // Also when nothing is new: the agent may be within reach again.
            if now_known.acted_on.as_deref() != Some(now_known.revision.as_str()) {
                events.extend(act(&now_known, reaction, now, helpers));
            }
            events
        }
        (Some(incident), IncidentInput::Absent) if incident.absent.is_none() => {
            vec![E::Vanished { until: now + settings.stable_clear }]
        }
        (Some(_), IncidentInput::Absent) => vec![],
        (Some(incident), IncidentInput::Due) if incident.due.is_none_or(|due| now < due) => vec![],
        (Some(incident), IncidentInput::Due) if incident.absent.is_some() => vec![E::Closed {}],
        (Some(incident), IncidentInput::Due) => act(incident, reaction, now, helpers),
        (Some(incident), IncidentInput::Unsaid) if incident.acted > 0 && incident.rung == Rung::Agent => {
            vec![E::Unsaid {}]
        }
        (Some(_), IncidentInput::Unsaid) => vec![],
        (Some(_), IncidentInput::Gone) => vec![E::Closed {}],
    }
}

/// The next step on the ladder for a problem that is there.
fn act(incident: &Incident, reaction: &Reaction, now: Timestamp, helpers: Helpers) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    let due = now + reaction.escalate_after;
    let patience_ended = incident.due.is_some_and(|due| due <= now);
    let fresh = incident.acted_on.as_deref() != Some(incident.revision.as_str());
    let reachable = helpers.agent || reaction.action != Action::SendToAgent;
    match incident.rung {
        Rung::Person | Rung::Nobody => vec![],
        Rung::Agent if reaction.action == Action::Record => vec![E::Recorded {}],
        Rung::Agent if !reaction.auto || reaction.action == Action::Notify => {
            vec![E::Escalated { to: Rung::Person, due: None, why: "only a person can decide this".into() }]
        }
        // The agent cannot be told now: it is gone, or may not take a turn. Wait for it, but not for ever.
        Rung::Agent if !reachable && !patience_ended => {
            if incident.due.is_some() {
                vec![]
            } else {
                vec![E::Waiting { due }]
            }
        }
        Rung::Agent if incident.acted < reaction.attempts && reachable && (fresh || patience_ended) => {
            vec![E::Acted { action: reaction.action, told: incident.acted_on.clone(), due }]
        }
        Rung::Agent if (incident.acted >= reaction.attempts && fresh) || patience_ended => {
            let why = match incident.acted {
                0 => "no agent could be told".to_owned(),
                1 => "the agent was told once and it is still there".to_owned(),
                n => format!("the agent was told {n} times and it is still there"),
            };
            if helpers.orchestrator {
                vec![E::Escalated { to: Rung::Orchestrator, due: Some(due), why }]
            } else {
                vec![E::Escalated { to: Rung::Person, due: None, why }]
            }
        }
        Rung::Orchestrator if patience_ended => vec![E::Escalated {
            to: Rung::Person,
            due: None,
            why: "neither the agent nor the orchestrator could help".into(),
        }],
        Rung::Agent | Rung::Orchestrator => vec![],
    }
}

pub(crate) fn evolve(incident: &mut Incident, event: &IncidentEvent, at: Timestamp) {
    use IncidentEvent as E;
    match event {
        E::Opened { .. } | E::Closed {} => {}
        E::Revised { revision, detail } => {
            incident.revision.clone_from(revision);
            incident.detail.clone_from(detail);
        }
        E::Vanished { until } => {
            incident.absent = Some(at);
            incident.due = Some(*until);
        }
        E::Returned { due } => {
            incident.absent = None;
            incident.due = *due;
        }
        E::Acted { due, .. } => {
            incident.acted = incident.acted.saturating_add(1);
            incident.acted_on = Some(incident.revision.clone());
            incident.since = at;
            incident.due = Some(*due);
        }
        E::Escalated { to, due, .. } => {
            incident.rung = *to;
            incident.since = at;
            incident.due = *due;
        }
        E::Recorded {} => {
            incident.rung = Rung::Nobody;
            incident.due = None;
        }
        E::Waiting { due } => incident.due = Some(*due),
        E::Unsaid {} => {
            incident.acted = incident.acted.saturating_sub(1);
            incident.acted_on = None;
        }
    }
}
