//! Messages to an agent: queued, written at a quiet point, proven, or given up.

use super::launch::{has_ended, may_go_on};
use super::outbox::{DELIVERY_BYTES, OutboxStep, is_turn_of};
use super::{DeliveryStage, Message, MessageKind, NewMessage, Phase, Sender, Session, SessionEvent};
use crate::Timestamp;
use crate::refusal::Refusal;
use crate::state::State;
use crate::text::sanitise;

/// The number of waiting messages beyond which senders are refused. An agent that takes none must not fill the
/// memory.
const WAITING_MOST: usize = 200;

/// Accepts a message, unless it is invalid, and cleans its text.
pub(super) fn send(
    state: &State,
    session: &Session,
    now: Timestamp,
    new: NewMessage,
) -> Result<Vec<SessionEvent>, Refusal> {
    match &session.phase {
        Phase::Ended { .. } => return Err(has_ended(state, session, now)),
        // It would wake the agent for work that is no longer wanted.
        Phase::Exited { .. } | Phase::Resting { .. } => may_go_on(state, session)?,
        _ => {}
    }
    if session.outbox.waiting.len() >= WAITING_MOST {
        let what = format!("{WAITING_MOST} messages wait for `{}` already", session.spec.name);
        return Err(Refusal::Invalid { what });
    }
    let body = sanitise(&new.body);
    if body.trim().is_empty() {
        return Err(Refusal::Invalid { what: "the message is empty".into() });
    }
    if body.len() > DELIVERY_BYTES {
        return Err(Refusal::Invalid {
            what: format!(
                "the message has {} bytes, more than the {} that fit; put it into a file and send its path",
                body.len(),
                DELIVERY_BYTES
            ),
        });
    }
    if new.key.as_deref().is_some_and(|key| session.outbox.sent_with(key).is_some()) {
        return Ok(vec![]);
    }
    let replaces = session.outbox.outdated_by(&new.kind);
    let NewMessage { from, kind, interrupt, key, .. } = new;
    let message = Message { no: session.outbox.message_no(), from, kind, body, interrupt, key, queued: now };
    Ok(vec![SessionEvent::MessageQueued { message, replaces }])
}

/// Returns what a turn of the agent's proves: the delivery that is under way, or one that was given up too early, or nothing.
pub(super) fn proven(
    session: &Session,
    delivery: Option<u32>,
    turn: String,
    text: &str,
) -> Vec<SessionEvent> {
    if let Some(no) = delivery.filter(|_| text.is_empty()) {
        // The adapter knows it by its number alone.
        let meant = session.outbox.under_way().find(|it| it.no == no);
        return meant.map(|it| SessionEvent::Accepted { delivery: it.no, turn }).into_iter().collect();
    }
    let current = session.outbox.under_way().find(|delivery| is_turn_of(text, &delivery.text));
    match (current, delivery) {
        // The adapter knows which delivery it is.
        (Some(_), Some(no)) => {
            let meant = session.outbox.under_way().find(|it| it.no == no && is_turn_of(text, &it.text));
            return meant.map(|it| SessionEvent::Accepted { delivery: it.no, turn }).into_iter().collect();
        }
        (None, Some(_)) => return vec![],
        (_, None) if session.outbox.proved_by(&turn) => return vec![],
        (_, None) => {}
    }
    // The same text may have been given up and sent again; then this turn is that of the earlier one.
    let late: Vec<u32> = session
        .outbox
        .failed
        .iter()
        .filter(|failed| is_turn_of(text, &failed.text))
        .map(|failed| failed.message.no)
        .collect();
    if !late.is_empty() {
        return vec![SessionEvent::TakenAfterAll { messages: late, turn }];
    }
    current.map(|current| SessionEvent::Accepted { delivery: current.no, turn }).into_iter().collect()
}

/// Returns the message for an agent whose conversation is lost and whose change is proposed already. The task itself would
/// have it begin anew.
fn where_it_stands(session: &Session) -> String {
    let pulls: Vec<String> = session.pulls.iter().map(ToString::to_string).collect();
    format!(
        "You were started again and remember nothing of what you did. Your change for the task \"{}\" is proposed already: {}, \
         on the branch `{}`, which is checked out here. Do not begin anew. Read the change and what was said about it, and do \
         only what is left: failed checks, open review comments, conflicts.",
        session.spec.title,
        pulls.join(", "),
        session.branch()
    )
}

/// Returns the task as the first message of a conversation.
pub(crate) fn task_message(session: &Session, now: Timestamp) -> Message {
    let body = match session.pulls.is_empty() {
        true => session.spec.prompt.clone(),
        false => where_it_stands(session),
    };
    Message { kind: MessageKind::Task, ..daemon_message(session, now, body) }
}

/// Returns a message of the daemon itself.
pub(super) fn daemon_message(session: &Session, now: Timestamp, body: impl Into<String>) -> Message {
    Message {
        no: session.outbox.message_no(),
        from: Sender::Daemon,
        kind: MessageKind::Text,
        body: body.into(),
        interrupt: false,
        key: None,
        queued: now,
    }
}

/// Returns the message for an agent whose turn was cut short by a provider's limit. One that was only held has nothing to
/// take up, and one that took up its work by itself needs no message.
pub(super) fn go_on_message(session: &Session, now: Timestamp) -> Option<SessionEvent> {
    let is_there = matches!(
        session.phase,
        Phase::Running { .. } | Phase::Exited { .. } | Phase::Retrying { .. } | Phase::Resting { .. }
    );
    // A message that was never taken is sent again anyway.
    let cut = session.resume.cut_short && is_there && session.outbox.current.is_none();
    let body = "The provider's limit is over. Go on where you were stopped.";
    cut.then(|| SessionEvent::MessageQueued { message: daemon_message(session, now, body), replaces: None })
}

/// Returns true if a message asks the agent to take up its work again.
pub(super) fn says_go_on(message: &Message) -> bool {
    message.from == Sender::Daemon && message.kind == MessageKind::Text
}

pub(super) fn is_writing(session: &Session, delivery: u32, tries: u32) -> bool {
    session.outbox.current.as_ref().is_some_and(|current| {
        current.no == delivery && current.tries == tries && current.stage == DeliveryStage::Writing
    })
}

pub(super) fn flush(state: &State, session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    match session.outbox_next(now, &state.settings) {
        OutboxStep::Nothing | OutboxStep::At(_) => vec![],
        OutboxStep::Start => session
            .outbox
            .compose(DeliveryStage::Writing, None)
            .map(|delivery| SessionEvent::DeliveryStarted { delivery: Box::new(delivery) })
            .into_iter()
            .collect(),
        OutboxStep::Retry => session
            .outbox
            .current
            .iter()
            .map(|delivery| SessionEvent::DeliveryRetried { delivery: delivery.no })
            .collect(),
        OutboxStep::GiveUp => session
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
