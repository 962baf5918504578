//! Custom events: a caller raises them and clears them, or they end once a person was notified.
//!
//! The core cannot observe whether such a problem persists, so it is a moment, not a state.

use crate::Timestamp;
use crate::decide::incident_events;
use crate::event::Event;
use crate::incident::{
    self, EscalationLevel, Incident, IncidentContext, IncidentEvent, IncidentInput, IncidentKey,
    IncidentKind, ObservedProblem, ProblemId, Subject,
};
use crate::outside::{cut, shortened};
use crate::pull::TEXT_LIMIT;
use crate::refusal::Refusal;
use crate::state::State;
use crate::text::sanitise;

/// Limit of users' own events that are open for one subject.
const MOST_RAISED: usize = 100;
/// Limit of an event's data in bytes. Callers bound it below that: half of it would be no data at all.
const DATA_LIMIT: usize = 64 * 1024;
/// Limit of an event's key in bytes.
const NAME_LIMIT: usize = 512;

/// A user's own event as it comes in.
pub(crate) struct Raised {
    pub(crate) kind: IncidentKind,
    pub(crate) problem: String,
    pub(crate) revision: String,
    pub(crate) detail: String,
}

/// Takes an event that has happened, or goes on with something new.
pub(crate) fn raise(
    state: &State,
    now: Timestamp,
    subject: Subject,
    raised: Raised,
) -> Result<Vec<Event>, Refusal> {
    let kind = custom(raised.kind)?;
    match &subject {
        Subject::Session(id) if !state.sessions.get(id).is_some_and(|session| session.is_live()) => {
            return Err(Refusal::UnknownSession(*id));
        }
        Subject::Project(id) if !state.projects.contains_key(id) => {
            return Err(Refusal::UnknownProject(id.clone()));
        }
        Subject::Pull(id)
            if !state.pulls.get(id).is_some_and(|pull| pull.is_open() && pull.owner.is_some()) =>
        {
            return Err(Refusal::Invalid { what: format!("{id} is no open pull request of a session") });
        }
        _ => {}
    }
    let id = named(&raised.problem);
    // It may carry the event's data, so other data count as new.
    let revision = cut(&sanitise(&raised.revision), DATA_LIMIT);
    let detail = shortened(&sanitise(&raised.detail), TEXT_LIMIT);
    let key = IncidentKey { subject, kind: kind.clone(), problem: id.clone() };
    let open = state.incidents_of(&key.subject).filter(|incident| incident.key.kind.is_moment()).count();
    if open >= MOST_RAISED && !state.incidents.contains_key(&key) {
        return Err(Refusal::Invalid {
            what: format!(
                "{MOST_RAISED} events of `{}` are open already; clear some of them",
                state.subject_name(&key.subject)
            ),
        });
    }
    let over = |known: &Incident| {
        matches!(known.level, EscalationLevel::Person | EscalationLevel::None) && known.revision != revision
    };
    let over = state.incidents.get(&key).is_some_and(over);
    let seen = IncidentInput::Seen(ObservedProblem { kind, id, revision, detail });
    if !over {
        return Ok(incident_events(state, now, key, seen));
    }
    // The previous one was handled completely, so this is a new one.
    let opened = IncidentContext::of(state, &key, now, |context| incident::decide(&key, None, context, seen));
    let events = std::iter::once(IncidentEvent::Closed {}).chain(opened);
    Ok(events.map(|event| Event::Incident(key.clone(), event)).collect())
}

/// Closes the incident of a user's own event.
pub(crate) fn clear(
    state: &State,
    now: Timestamp,
    subject: Subject,
    kind: IncidentKind,
    problem: &str,
) -> Result<Vec<Event>, Refusal> {
    let key = IncidentKey { subject, kind: custom(kind)?, problem: named(problem) };
    // An explicit clear is authoritative, so skip the flicker delay.
    let mut events = incident_events(state, now, key.clone(), IncidentInput::Absent);
    events.extend(incident_events(state, now, key, IncidentInput::Gone));
    Ok(events)
}

fn named(text: &str) -> ProblemId {
    ProblemId::Event(cut(&sanitise(text), NAME_LIMIT))
}

fn custom(kind: IncidentKind) -> Result<IncidentKind, Refusal> {
    match kind {
        IncidentKind::Custom(_) => Ok(kind),
        ours => Err(Refusal::Invalid {
            what: format!(
                "`{ours}` is found out from what is seen; choose another name for an event of your own"
            ),
        }),
    }
}
