//! Converts messages to wire types: the progress of each, and the reason it waits.

use ao_api::{Message, MessageState, Messages};
use ao_core::session::{self, DeliveryStage, MessageWait, Sender, Session};
use ao_core::{State, Timestamp};

use super::time;

/// Converts the messages of a session that are undelivered or were given up.
pub(crate) fn messages(state: &State, session: &Session, now: Timestamp) -> Messages {
    let outbox = &session.outbox;
    let mut all: Vec<Message> = outbox
        .failed
        .iter()
        .map(|failed| tell(state, &failed.message, MessageState::Failed, Some(failed.why.clone())))
        .collect();
    for delivery in outbox.under_way() {
        let (stage, why) = how_far(&delivery.stage);
        all.extend(delivery.messages.iter().map(|message| tell(state, message, stage, why.clone())));
    }
    all.extend(outbox.waiting.iter().map(|message| {
        let why = why_waits(state, session, message.interrupt, now);
        tell(state, message, MessageState::Queued, Some(why))
    }));
    all.sort_by_key(|message| message.number);
    Messages { messages: all, accepted: outbox.accepted }
}

/// Converts one message, without its text; `None` if it is no longer in the outbox.
pub(crate) fn find_message(state: &State, session: &Session, number: u32, now: Timestamp) -> Option<Message> {
    let all = messages(state, session, now).messages;
    let found = all.into_iter().find(|message| message.number == number)?;
    Some(Message { content: None, ..found })
}

fn tell(state: &State, message: &session::Message, stage: MessageState, reason: Option<String>) -> Message {
    let from = match &message.from {
        Sender::Person(name) => name.clone(),
        Sender::Session(id) => state.name_of(*id),
        Sender::Daemon => "ao".into(),
    };
    Message {
        number: message.no,
        from,
        state: stage,
        reason,
        content: Some(message.body.clone()),
        queued_at: Some(time(message.queued)),
    }
}

fn how_far(stage: &DeliveryStage) -> (MessageState, Option<String>) {
    match stage {
        DeliveryStage::Writing => (MessageState::Written, Some("it is being typed".into())),
        DeliveryStage::Written { .. } => {
            (MessageState::Written, Some("it is not yet proven that the agent took it".into()))
        }
        DeliveryStage::Paused { counts: true, .. } => {
            (MessageState::Written, Some("it is tried again shortly".into()))
        }
        DeliveryStage::Paused { counts: false, .. } => {
            (MessageState::Queued, Some("something was in the way; it is tried again shortly".into()))
        }
    }
}

fn why_waits(state: &State, session: &Session, interrupt: bool, now: Timestamp) -> String {
    match session.quiet(interrupt, now, &state.settings) {
        Ok(()) => "it is next".into(),
        Err(MessageWait::NotRunning) => format!("the agent does not run: {}", session.status(now).reason),
        Err(MessageWait::Held) => format!("the session is held: {}", session.status(now).reason),
        Err(MessageWait::Busy) => "the agent is in the middle of a turn".into(),
        Err(MessageWait::DialogOpen) => "a dialog is open".into(),
        Err(MessageWait::Limited) => "the provider's limit is in force".into(),
        Err(MessageWait::Unknown) => "nothing is known of the agent".into(),
        Err(MessageWait::PersonTyping { until }) => {
            format!(
                "a person is typing in the terminal; it waits for {} s more",
                until.since(now).as_secs().max(1)
            )
        }
    }
}
