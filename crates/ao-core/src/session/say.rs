//! What is said to an agent: taken in, sent out at a quiet point, proven, or given up.

use super::outbox::{Carries, DELIVERY_BYTES, Next, carries};
use super::{Message, MessageKind, NewMessage, Phase, Sender, Session, SessionEvent, Stage};
use crate::Timestamp;
use crate::refusal::Refusal;
use crate::state::State;

/// Takes a message in, unless it cannot be one.
pub(super) fn send(
    session: &Session,
    phase: &Phase,
    now: Timestamp,
    new: NewMessage,
) -> Result<Vec<SessionEvent>, Refusal> {
    if let Phase::Ended { outcome, .. } = phase {
        return Err(Refusal::Ended { session: session.id, outcome: outcome.to_string() });
    }
    if new.body.trim().is_empty() {
        return Err(Refusal::Invalid { what: "the message is empty".into() });
    }
    if new.body.len() > DELIVERY_BYTES {
        return Err(Refusal::Invalid {
            what: format!(
                "the message has {} bytes, more than the {} that fit; put it into a file and send its path",
                new.body.len(),
                DELIVERY_BYTES
            ),
        });
    }
    if new.key.as_deref().is_some_and(|key| session.outbox.sent_with(key).is_some()) {
        return Ok(vec![]);
    }
    let replaces = session.outbox.outdated_by(&new.kind);
    let NewMessage { from, kind, body, interrupt, key } = new;
    let message = Message { no: session.outbox.message_no(), from, kind, body, interrupt, key, queued: now };
    let mut events = vec![SessionEvent::MessageQueued { message, replaces }];
    if matches!(phase, Phase::Exited { .. }) && session.holds.is_empty() {
        events.push(SessionEvent::Requeued { why: "a message waits for it".into() });
    }
    Ok(events)
}

/// What a turn of the agent's proves: the delivery that is under way, or one that was given up too early, or nothing.
pub(super) fn proven(
    session: &Session,
    delivery: Option<u32>,
    turn: String,
    text: &str,
) -> Vec<SessionEvent> {
    let current =
        session.outbox.current.as_ref().filter(|current| carries(text, &current.text) == Carries::Yes);
    match (current, delivery) {
        // The adapter knows which delivery it means.
        (Some(current), Some(no)) if current.no == no => {
            return vec![SessionEvent::Accepted { delivery: no, turn }];
        }
        (_, Some(_)) => return vec![],
        (_, None) if session.outbox.proved_by(&turn) => return vec![],
        (_, None) => {}
    }
    // The elder first: the same words may have been said again after they were given up.
    let late: Vec<u32> = session
        .outbox
        .failed
        .iter()
        .filter(|(message, _)| carries(text, &message.body) == Carries::Yes)
        .map(|(message, _)| message.no)
        .collect();
    if !late.is_empty() {
        return vec![SessionEvent::TakenAfterAll { messages: late, turn }];
    }
    current.map(|current| SessionEvent::Accepted { delivery: current.no, turn }).into_iter().collect()
}

/// The task as the first message of a conversation.
pub(crate) fn task_message(session: &Session, now: Timestamp) -> Message {
    Message {
        no: session.outbox.message_no(),
        from: Sender::Daemon,
        kind: MessageKind::Task,
        body: session.spec.prompt.clone(),
        interrupt: false,
        key: None,
        queued: now,
    }
}

pub(super) fn is_writing(session: &Session, delivery: u32, tries: u32) -> bool {
    session.outbox.current.as_ref().is_some_and(|current| {
        current.no == delivery && current.tries == tries && current.stage == Stage::Writing
    })
}

pub(super) fn flush(state: &State, session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    match session.outbox_next(now, &state.settings) {
        Next::Nothing | Next::At(_) => vec![],
        Next::Start => session
            .outbox
            .compose(Stage::Writing, None)
            .map(|delivery| SessionEvent::DeliveryStarted { delivery: Box::new(delivery) })
            .into_iter()
            .collect(),
        Next::Retry => session
            .outbox
            .current
            .iter()
            .map(|delivery| SessionEvent::DeliveryRetried { delivery: delivery.no })
            .collect(),
        Next::GiveUp => session
            .outbox
            .current
            .iter()
            .map(|delivery| SessionEvent::DeliveryFailed {
                delivery: delivery.no,
                why: format!("not accepted after {} tries", delivery.tries),
            })
            .collect(),
    }
}
