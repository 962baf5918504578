//! Invariants once the faults have stopped and everything has settled.

use ao_core::evidence::AgentActivity;
use ao_core::incident::EscalationLevel;
use ao_core::queue::QueueEntry;
use ao_core::schedule::{obstacle, would_yield};
use ao_core::session::{Phase, Session};
use ao_core::{SessionId, StampedEvent, State, codec};

use super::Invariant::{self, *};
use super::alarms::waits;
use super::ledger::NoticeProgress;
use crate::universe::UniverseState;

/// Checks that the engine's state, between two turns, agrees with the log.
pub(crate) fn agrees(inner: &mut UniverseState, state: &State) {
    if let Some(what) = difference(state, &inner.log.shadow) {
        inner.broken(LogReplays, format!("the engine was started from the log, and {what}"));
    }
}

/// Checks that the log, read from its start, gives the state that it was written from. As expensive as the whole run,
/// so it is done once.
pub(crate) fn replays(inner: &mut UniverseState) {
    let mut state = State::default();
    for record in &inner.log.records {
        match codec::decode(&record.kind, record.version, &record.scope, &record.body) {
            Ok(event) => state.evolve(&StampedEvent { at: record.at, event }),
            Err(err) => return inner.broken(LogReplays, err.to_string()),
        }
    }
    if let Some(what) = difference(&state, &inner.log.shadow) {
        inner.broken(LogReplays, format!("replayed from the start, {what}"));
    }
}

/// Returns a difference between two states. Indexes are compared by their answers, not by their history.
fn difference(replayed: &State, known: &State) -> Option<String> {
    let differs = |id: &&SessionId| replayed.sessions.get(*id) != known.sessions.get(*id);
    if let Some(id) = known.sessions.keys().chain(replayed.sessions.keys()).find(differs) {
        let (ours, logged) = (replayed.sessions.get(id), known.sessions.get(id));
        return Some(format!("{id} is {ours:?} and not {logged:?}"));
    }
    let same = replayed.settings == known.settings
        && replayed.projects == known.projects
        && replayed.tasks == known.tasks
        && replayed.pulls == known.pulls
        && replayed.incidents == known.incidents
        && replayed.notices == known.notices
        && replayed.jobs == known.jobs
        && replayed.accounts == known.accounts
        && replayed.scarce_mb == known.scarce_mb
        && replayed.strays == known.strays;
    if !same {
        return Some("something other than a session differs".into());
    }
    if replayed.next_due() != known.next_due() {
        return Some(format!("{:?} is due and not {:?}", replayed.next_due(), known.next_due()));
    }
    let slots = known.sessions.values().filter(|session| session.takes_slot()).count() as u32;
    if (replayed.slots_taken(), known.slots_taken()) != (slots, slots) {
        return Some(format!("{slots} slots are taken, not {}", known.slots_taken()));
    }
    let lost = |session: &&Session| {
        let answers = |state: &State| {
            let task = session.spec.task.as_ref().and_then(|task| state.live_session_of(task));
            let branch = state.owner_of_branch(&session.spec.project, &session.spec.branch);
            let path = session.workspace.path().map(|path| state.owner_of_path(path));
            (state.session_named(&session.spec.name).map(|known| known.id), task, branch, path)
        };
        answers(replayed) != answers(known)
    };
    known
        .sessions
        .values()
        .map(|session| &**session)
        .find(lost)
        .map(|lost| format!("the indexes disagree on {}", lost.id))
}

/// Checks that everything is at rest, with a reason that a person understands.
pub(crate) fn at_rest(inner: &mut UniverseState) {
    super::all_seen(inner);
    let mut broken: Vec<(Invariant, String)> = Vec::new();
    let now = inner.wall();
    let shadow = &inner.log.shadow;
    if let Some((idle, next)) = would_yield(shadow, now) {
        broken.push((IdleYield, format!("{next} waits, and {idle} could make room")));
    }
    for session in shadow.sessions.values() {
        broken.extend(super::asks::at_rest(inner, session));
        if let Some(what) = stuck_in(shadow, session) {
            broken.push((ReasonsShown, format!("{} {what}", session.id)));
        }
        let listens = matches!(session.phase, Phase::Running { .. })
            && session.judgement.activity == AgentActivity::Idle
            && session.holds.is_empty();
        if listens && !session.outbox.is_empty() {
            let what = format!("{} is idle, and messages wait: {:?}", session.id, session.outbox);
            broken.push((MessagesKept, what));
        }
    }
    for incident in shadow.incidents.values() {
        let escalated = matches!(incident.level, EscalationLevel::Person | EscalationLevel::None);
        if !escalated && !waits(incident) {
            broken.push((EscalatedOnce, format!("open, and not escalated: {incident:?}")));
        }
    }
    if let Some(job) = shadow.jobs.values().next() {
        broken.push((NoDeadEnds, format!("a job was neither done nor given up: {job:?}")));
    }
    let queues =
        shadow.projects.iter().flat_map(|(id, project)| project.queues().map(move |queue| (id, queue)));
    for (id, queue) in queues {
        let moves = |entry: &&QueueEntry| queue.paused.is_none() || entry.request.is_some();
        let forgotten = queue.entries.iter().filter(moves).find(|entry| entry.held.is_none());
        if let Some(entry) = forgotten.filter(|_| queue.base.is_some()) {
            let pull = &entry.pull;
            broken.push((
                NoDeadEnds,
                format!("{pull} is still in the queue of {id} without a reason: {queue:?}"),
            ));
        }
    }
    for ((session, attempt), process) in inner.outside.living() {
        let known = shadow.sessions.get(session);
        if !process.held {
            let what = format!("attempt {attempt} of {session} lives without its holder, and is left alone");
            broken.push((NewsEscalated, what));
        }
        if known.is_none_or(|known| known.running_attempt() != Some(*attempt)) {
            let phase = known.map(|known| &known.phase);
            let what = format!("attempt {attempt} of {session} still lives, and the session is {phase:?}");
            broken.push((OneProcessPerSession, what));
        }
    }
    for key in &inner.log.ledger.owed {
        if !matches!(inner.log.ledger.notices.get(key), Some(NoticeProgress::Sent | NoticeProgress::GivenUp))
        {
            broken.push((PersonsNotified, format!("`{key}` reached no person")));
        }
    }
    if let Some(waiting) = shadow.notices.values().next() {
        broken.push((PersonsNotified, format!("a notice was neither sent nor given up: {waiting:?}")));
    }
    for (invariant, what) in broken {
        inner.broken(invariant, what);
    }
}

/// Returns a description if a session is stuck.
fn stuck_in(state: &State, session: &Session) -> Option<String> {
    match &session.phase {
        Phase::Queued { .. } if obstacle(state, session).is_none() => {
            Some("waits for a slot, and nothing is in its way".into())
        }
        // A held session waits for a person, and shows it.
        Phase::Retrying { .. } | Phase::Starting { .. } if !session.holds.is_empty() => None,
        Phase::Preparing { .. }
        | Phase::Starting { .. }
        | Phase::Stopping { .. }
        | Phase::Retrying { .. } => Some(format!("is still {:?}", session.phase)),
        Phase::Running { .. } if session.judgement.activity == AgentActivity::Exited => {
            Some("counts as running, and its process has ended".into())
        }
        _ => None,
    }
}
