//! Invariants of asks and answers, against the dialogs that the agents really have open.

use ao_core::evidence::Reading;
use ao_core::session::{Session, SessionEvent};
use ao_core::{AskId, SessionId};

use super::Invariant::{self, AnsweredOnce, AsksKept};
use crate::outside::SimDialog;
use crate::universe::UniverseState;

/// Checks an event of a session before it is applied.
pub(super) fn session(inner: &mut UniverseState, id: SessionId, event: &SessionEvent) {
    let Some(session) = inner.log.shadow.sessions.get(&id) else { return };
    let key = (id, session.attempt);
    match event {
        SessionEvent::Asked { open } => {
            inner.log.ledger.asks.insert((id, session.attempt, open.ask.id.clone()));
        }
        SessionEvent::Answering { answer } => {
            let text = answer.text.clone();
            let known = inner.log.ledger.answers.insert((id, answer.number), text);
            inner
                .must(known.is_none(), AnsweredOnce, || format!("two answers of {id} are {}", answer.number));
        }
        SessionEvent::Answered { number } => {
            let given = inner.outside.processes.get(&key).is_some_and(|it| it.given.contains_key(number));
            inner.must(given, AnsweredOnce, || {
                format!("answer {number} to {id} counts as given, and its agent has not got it")
            });
        }
        SessionEvent::AskClosed { ask } => {
            let ask = ask.clone();
            stays(inner, id, &[ask]);
        }
        SessionEvent::SignalSeen { signal } if signal.reading == Reading::Idle => {
            let over = session.evidence.open_asks();
            let over: Vec<AskId> =
                over.iter().filter(|open| open.since < signal.at).map(|open| open.ask.id.clone()).collect();
            stays(inner, id, &over);
        }
        _ => {}
    }
}

/// Checks that none of these asks is still open at its agent.
fn stays(inner: &mut UniverseState, id: SessionId, closed: &[AskId]) {
    // A clock that jumps puts reports into another order.
    if inner.jump != 0 {
        return;
    }
    let Some(session) = inner.log.shadow.sessions.get(&id) else { return };
    let dialogs = dialogs(inner, session);
    let lost = closed.iter().find(|ask| dialogs.iter().any(|dialog| dialog.id.as_ref() == Some(*ask)));
    if let Some(lost) = lost.cloned() {
        inner.broken(AsksKept, format!("`{lost}` of {id} is closed, and its agent waits for the answer"));
    }
}

fn dialogs<'u>(inner: &'u UniverseState, session: &Session) -> &'u [SimDialog] {
    let process = inner.outside.processes.get(&(session.id, session.attempt));
    process.filter(|process| process.lives()).map(|process| process.dialogs.as_slice()).unwrap_or_default()
}

/// Returns violations once everything has settled.
pub(super) fn at_rest(inner: &UniverseState, session: &Session) -> Vec<(Invariant, String)> {
    let mut broken = Vec::new();
    let id = session.id;
    if let Some(answer) = session.dialogs.answers_under_way().next() {
        broken.push((AnsweredOnce, format!("an answer to {id} was neither given nor refused: {answer:?}")));
    }
    let reported = |ask: &&AskId| {
        inner.log.ledger.asks.contains(&(id, session.attempt, (*ask).clone())) && inner.jump == 0
    };
    let open = dialogs(inner, session).iter().filter_map(|dialog| dialog.id.as_ref()).filter(reported);
    for ask in open.filter(|ask| session.evidence.open_ask(ask).is_none()) {
        broken.push((AsksKept, format!("`{ask}` of {id} waits for an answer, and is not shown as open")));
    }
    broken
}
