//! Messages to agents, and their delivery.

use std::time::Duration;

use ao_api::{Message, MessageSent, MessageState, Messages, NewMessage, Problem};
use ao_core::session::{MessageKind, Sender, SessionEvent, SessionInput};
use ao_core::{Event, Input, SessionId, State};
use ao_engine::Subscription;
use axum::Json;
use axum::http::StatusCode;
use tokio::time::timeout;

use super::sessions::{gone, view};
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Given, SessionCall, SessionName};
use crate::problem::{CodedReply, Failure, Reply};
use crate::to_api;

const WAIT_MOST: u32 = 300;

/// Lists the messages of a session that are undelivered or were given up.
#[utoipa::path(
    get, path = "/api/sessions/{id}/messages", tag = "messages",
    params(SessionName),
    responses((status = 200, body = Messages)),
)]
pub(super) async fn list(SessionCall { app, session, .. }: SessionCall) -> Reply<Messages> {
    Ok(Json(view(&app, session.id, to_api::messages).await?))
}

/// Sends a message to an agent. With `waitSeconds`, responds once the agent has taken it or it was given up.
#[utoipa::path(
    post, path = "/api/sessions/{id}/message", tag = "messages", request_body = NewMessage,
    params(SessionName),
    responses(
        (status = 200, description = "It was accepted, or given up: `message.state` says which", body = MessageSent),
        (status = 202, description = "It is on its way", body = MessageSent),
    ),
)]
pub(super) async fn send(
    SessionCall { app, caller, session }: SessionCall,
    Given(new): Given<NewMessage>,
) -> CodedReply<MessageSent> {
    let from = match &caller {
        Caller::Session(agent) => Sender::Session(agent.id),
        Caller::Owner | Caller::Anonymous => Sender::Person(app.owner.clone()),
    };
    let (id, key) = (session.id, new.key.clone());
    let message = ao_core::session::NewMessage {
        from,
        kind: MessageKind::Text,
        body: new.content,
        interrupt: new.interrupt,
        key: new.key,
    };
    let receipt = app.handle.ask(Input::Session { session: id, input: SessionInput::Send(message) }).await?;
    let queued = receipt.events.iter().find_map(|stamped| match &stamped.event {
        Event::Session(of, SessionEvent::MessageQueued { message, .. }) if *of == id => Some(message.no),
        _ => None,
    });
    let number = match (queued, key) {
        (Some(number), _) => number,
        (None, Some(key)) => sent_before(&app, id, key).await?,
        (None, None) => return Err(Problem::new(500, "bug", "a message was taken and not told of").into()),
    };
    let wait = Duration::from_secs(new.wait_seconds.unwrap_or(0).min(WAIT_MOST).into());
    let mut message = settle(&app, id, number, app.handle.subscribe(receipt.seq), wait).await?;
    message.from = super::control::name(&app, &caller);
    let settled = matches!(message.state, MessageState::Accepted | MessageState::Failed);
    let status = if settled { StatusCode::OK } else { StatusCode::ACCEPTED };
    let name = session.spec.name.clone();
    Ok((status, Json(MessageSent { session_id: id.to_string(), session_name: name, message })))
}

async fn sent_before(app: &App, session: SessionId, key: String) -> Result<u32, Failure> {
    let found = app.handle.view(move |state| state.sessions.get(&session)?.outbox.sent_with(&key));
    found.await?.ok_or_else(|| gone().into())
}

/// Waits until the delivery of a message has ended, and returns its state by then.
async fn settle(
    app: &App,
    session: SessionId,
    number: u32,
    mut events: Subscription,
    wait: Duration,
) -> Result<Message, Failure> {
    let settled = async {
        let mut given_up = None;
        loop {
            let mut message = how_far(app, session, number).await?;
            // So many were given up at once that the outbox no longer lists this one; the event had the reason.
            if message.reason.as_deref() == Some(FORGOTTEN) && given_up.is_some() {
                message.reason = given_up.take();
            }
            if matches!(message.state, MessageState::Accepted | MessageState::Failed) {
                return Ok(message);
            }
            loop {
                let next = events.next().await;
                let next = next.map_err(|err| Problem::new(503, "not-watched", err.to_string()))?;
                match next.as_ref().map(|published| &published.event) {
                    None => return Err(crate::problem::stopping().into()),
                    Some(Event::Session(of, event)) if *of == session && may_settle(event) => {
                        if let SessionEvent::MessagesDropped { why } = event {
                            given_up = Some(why.clone());
                        }
                        break;
                    }
                    Some(_) => {}
                }
            }
        }
    };
    let stopped = async {
        app.stop.cancelled().await;
        Err(crate::problem::stopping().into())
    };
    let waited = async {
        tokio::select! { done = settled => done, gone = stopped => gone }
    };
    match timeout(wait, waited).await {
        Ok(done) => done,
        Err(_) => how_far(app, session, number).await,
    }
}

/// Returns `true` if this event may end a delivery.
fn may_settle(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::Accepted { .. }
            | SessionEvent::TakenAfterAll { .. }
            | SessionEvent::DeliveryFailed { .. }
            | SessionEvent::MessagesDropped { .. }
            | SessionEvent::MessageWithdrawn { .. }
            | SessionEvent::Ended { .. }
            | SessionEvent::Archived { .. }
    )
}

/// The reason for a message that is in no list any more. A message counts as accepted only if that is known.
const FORGOTTEN: &str = "what became of it is no longer known; the log of events has it";

async fn how_far(app: &App, session: SessionId, number: u32) -> Result<Message, Failure> {
    let look = move |state: &State, session: &ao_core::session::Session, now| {
        to_api::find_message(state, session, number, now).unwrap_or_else(|| {
            let (state, reason) = match session.outbox.was_accepted(number) {
                true => (MessageState::Accepted, None),
                false => (MessageState::Failed, Some(FORGOTTEN.to_owned())),
            };
            Message { number, from: String::new(), state, reason, content: None, queued_at: None }
        })
    };
    view(app, session, look).await
}
