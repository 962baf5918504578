//! Asks of agents, and the answers of people.

use ao_api::{Answer, Asks, Problem, SessionAsk};
use ao_core::session::SessionInput;
use ao_core::{Refusal, SessionId};
use axum::Json;

use crate::app::App;
use crate::extract::{Call, Given, Part, SessionCall, SessionName};
use crate::problem::{Failure, Reply};
use crate::to_api;

/// Lists the open asks of all sessions, the oldest first.
#[utoipa::path(get, path = "/api/asks", tag = "asks", responses((status = 200, body = Asks)))]
pub(super) async fn all(Call { app, .. }: Call) -> Reply<Asks> {
    listed(&app, None).await
}

/// Lists the open asks of a session, the oldest first.
#[utoipa::path(
    get, path = "/api/sessions/{id}/asks", tag = "asks",
    params(SessionName),
    responses((status = 200, body = Asks)),
)]
pub(super) async fn list(SessionCall { app, session, .. }: SessionCall) -> Reply<Asks> {
    listed(&app, Some(session.id)).await
}

async fn listed(app: &App, of: Option<SessionId>) -> Reply<Asks> {
    let listed = app.handle.view_at(move |state, seq| {
        let meant = state.live().filter(|session| of.is_none_or(|of| session.id == of));
        let mut asks: Vec<SessionAsk> = meant.flat_map(to_api::asks).collect();
        asks.sort_by(|a, b| (a.ask.since, &a.session_id).cmp(&(b.ask.since, &b.session_id)));
        Asks { asks, seq }
    });
    Ok(Json(listed.await?))
}

/// Returns an open ask with all of its details.
#[utoipa::path(
    get, path = "/api/sessions/{id}/asks/{ask}", tag = "asks",
    params(
        SessionName,
        ("ask" = String, Path, description = "Its number, the agent's id of it, or a unique beginning of that"),
    ),
    responses((status = 200, body = SessionAsk)),
)]
pub(super) async fn show(
    SessionCall { app, session, .. }: SessionCall,
    Part((_id, ask)): Part<(String, String)>,
) -> Reply<SessionAsk> {
    let number = session.ask_meant(&ask)?;
    let Some(mut open) = session.open_asks().into_iter().find(|open| open.number == number) else {
        let meant = number.to_string();
        return Err(Refusal::UnknownAsk { name: session.spec.name.clone(), meant, open: vec![] }.into());
    };
    if open.whole.is_some()
        && let Some(details) = app.daemon.asks.all(session.id, session.attempt, &open.ask.id).await
    {
        (open.ask.details, open.whole) = (details, None);
    }
    Ok(Json(to_api::whole_ask(&session, open)))
}

/// Answers an open ask of a session, and no other one.
#[utoipa::path(
    post, path = "/api/sessions/{id}/answer", tag = "asks", request_body = Answer,
    params(SessionName),
    responses((status = 200, body = ao_api::Session)),
)]
pub(super) async fn answer(
    SessionCall { app, caller, session }: SessionCall,
    Given(answer): Given<Answer>,
) -> Reply<ao_api::Session> {
    let question = match (&answer.ask, answer.question) {
        (Some(ask), None) => session.ask_meant(ask)?,
        (None, Some(number)) => number,
        _ => return Err(unclear("an answer names its ask, by `ask` or by `question`")),
    };
    let text = match (answer.always, answer.answer) {
        (false, Some(text)) => text,
        (false, None) => return Err(unclear("`answer` is missing")),
        (true, text) => session.lasting_answer(question, text.as_deref())?,
    };
    let by = super::control::name(&app, &caller);
    super::control::tell(&app, session.id, SessionInput::Answer { by, question, text }).await
}

fn unclear(why: &str) -> Failure {
    let hint = "`GET /api/sessions/{id}/asks` lists the open asks, with their options";
    Problem::new(422, "invalid-body", why).hint(hint).into()
}
