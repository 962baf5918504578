//! Folds events into an incident. Nothing here can fail, so every log loads.

use super::{EscalationLevel, FailureDoubt, Incident, IncidentEvent, TRIED_KEPT};
use crate::Timestamp;

pub(crate) fn evolve(incident: &mut Incident, event: &IncidentEvent, at: Timestamp) {
    use IncidentEvent as E;
    match event {
        E::Opened { .. } | E::Closed {} => {}
        E::Revised { revision, detail } => {
            incident.revision.clone_from(revision);
            incident.detail.clone_from(detail);
            incident.remark.clear();
            // A doubt about another head does not apply to this one; a red base does.
            incident.doubt = incident.doubt.take().filter(|doubt| *doubt == FailureDoubt::BaseRed {});
        }
        E::Vanished { until } => {
            incident.absent = Some(at);
            incident.due = Some(*until);
        }
        E::Returned { due } => {
            incident.absent = None;
            incident.due = *due;
        }
        E::Acted { due, on, .. } => {
            incident.acted = incident.acted.saturating_add(1);
            incident.acted_on = Some(incident.revision.clone());
            incident.believed = Some(incident.revision.clone());
            incident.doubt = None;
            incident.since = at;
            incident.due = Some(*due);
            if let Some(on) = on
                && incident.tried.last().is_none_or(|last| last.commit != on.commit)
            {
                // The first one is the start of the story; of the others the newest matter.
                if incident.tried.len() >= TRIED_KEPT {
                    incident.tried.remove(1);
                }
                incident.tried.push(on.clone());
            }
        }
        E::Escalated { to, due, .. } => {
            incident.level = *to;
            incident.since = at;
            incident.due = *due;
            incident.doubt = None;
        }
        E::Reopened {} => incident.level = EscalationLevel::Agent,
        E::Recorded { due } => {
            incident.level = EscalationLevel::None;
            incident.due = *due;
            incident.doubt = None;
        }
        E::Waiting { due } => incident.due = Some(*due),
        E::Unsaid {} => {
            incident.acted = incident.acted.saturating_sub(1);
            incident.acted_on = None;
        }
        E::Doubted { doubt, due } => {
            if incident.doubt.is_none() {
                incident.doubted = Some(at);
            }
            incident.doubt = Some(doubt.clone());
            incident.due = *due;
        }
        E::Believed { why, due } => {
            incident.doubt = None;
            incident.believed = Some(incident.revision.clone());
            if !why.is_empty() {
                incident.remark.clone_from(why);
            }
            incident.due = Some(*due);
        }
        E::Noted { said } => incident.remark.clone_from(said),
        E::Failed { why, due, instead } => {
            incident.remark.clone_from(why);
            if due.is_some() {
                incident.due = *due;
            }
            if *instead {
                incident.instead = true;
                incident.acted = incident.acted.saturating_sub(1);
                incident.acted_on = None;
            }
        }
        E::Answered { revision, .. } => {
            incident.answered = Some(revision.clone());
            if incident.level == EscalationLevel::Agent && *revision == incident.revision {
                incident.due = None;
            }
        }
    }
}
