//! Control of sessions. All calls are idempotent: a session that is already in the requested state is no error.

use std::sync::Arc;

use ao_api::{BudgetKind, Restore, Resume, Session, Stop};
use ao_core::budget::{BudgetInput, SpendLimits};
use ao_core::session::SessionInput;
use ao_core::{Input, SessionId};
use axum::Json;

use super::sessions::look;
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Perhaps, SessionCall, SessionName};
use crate::problem::{Failure, Reply};

/// Ends a session. Its work is kept.
#[utoipa::path(
    delete, path = "/api/sessions/{id}", tag = "sessions",
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn end(SessionCall { app, caller, session }: SessionCall) -> Reply<Session> {
    finish(&app, &caller, session.id, Stop::default()).await
}

/// Ends a session, with a reason. Its work is kept; with `cleanup`, its workspace is removed if nothing would be lost.
#[utoipa::path(
    post, path = "/api/sessions/{id}/stop", tag = "sessions", request_body = Stop,
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn stop(
    SessionCall { app, caller, session }: SessionCall,
    Perhaps(stop): Perhaps<Stop>,
) -> Reply<Session> {
    if stop.cleanup && caller != Caller::Owner {
        return Err(crate::problem::forbidden().into());
    }
    finish(&app, &caller, session.id, stop).await
}

/// Pauses a session: it gets no further turn until it is resumed.
#[utoipa::path(
    post, path = "/api/sessions/{id}/pause", tag = "sessions",
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn pause(SessionCall { app, caller, session }: SessionCall) -> Reply<Session> {
    let by = name(&app, &caller);
    tell(&app, session.id, SessionInput::Pause { by }).await
}

/// Resumes a session, with higher limits if a budget is spent: its own, or with `of` a shared one.
#[utoipa::path(
    post, path = "/api/sessions/{id}/resume", tag = "sessions", request_body = Resume,
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn resume(
    SessionCall { app, session, .. }: SessionCall,
    Perhaps(resume): Perhaps<Resume>,
) -> Reply<Session> {
    let Resume { of, usd, tokens, turns, seconds } = resume;
    if usd.is_some_and(|usd| !(0.0..=1e9).contains(&usd)) {
        let title = "a limit in dollars is to lie between 0 and a billion";
        return Err(ao_api::Problem::new(422, "invalid", title).into());
    }
    let named = usd.is_some() || tokens.is_some() || turns.is_some() || seconds.is_some();
    let micros = usd.map(|usd| (usd * 1e6).round() as u64);
    let limits = named.then_some(SpendLimits { micros, tokens, turns, seconds });
    if let Some(of) = of.filter(|of| *of != BudgetKind::Session) {
        raise(&app, session.id, of, limits).await?;
        return Ok(Json(look(&app, session.id).await?));
    }
    tell(&app, session.id, SessionInput::Resume { limits }).await
}

/// Sets another limit for a shared budget of a session.
async fn raise(
    app: &App,
    session: SessionId,
    of: BudgetKind,
    limits: Option<SpendLimits>,
) -> Result<(), Failure> {
    let shared = app
        .handle
        .view(move |state| state.sessions.get(&session).map(|session| state.budgets_of(session)))
        .await?
        .unwrap_or_default();
    let Some(budget) = shared.into_iter().find(|budget| crate::to_api::scope(budget) == of) else {
        let title = format!("`{of}` is no budget of this session");
        return Err(ao_api::Problem::new(422, "invalid", title)
            .hint("there is `session`, `task` if it has an issue, `project`, `project-day` and `day`")
            .into());
    };
    let Some(limits) = limits else {
        let title = format!("{budget:#} stays what it is without a new limit");
        return Err(ao_api::Problem::new(422, "invalid", title)
            .hint("name one: `--usd`, `--tokens`, `--turns` or `--time`")
            .into());
    };
    app.handle.ask(Input::Budget { budget, input: BudgetInput::Raise { limits } }).await?;
    Ok(())
}

/// Retries the failed set-up of a session.
#[utoipa::path(
    post, path = "/api/sessions/{id}/retry", tag = "sessions",
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn retry(SessionCall { app, session, .. }: SessionCall) -> Reply<Session> {
    tell(&app, session.id, SessionInput::Retry).await
}

/// Restores a session that has ended or exited, with its conversation and its workspace; in the runtime that is
/// configured now, or in another one.
#[utoipa::path(
    post, path = "/api/sessions/{id}/restore", tag = "sessions", request_body = Restore,
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn restore(
    SessionCall { app, session, .. }: SessionCall,
    Perhaps(restore): Perhaps<Restore>,
) -> Reply<Session> {
    let runtime = app.daemon.spawn.runtime_of(&session, restore.runtime.as_deref()).await?;
    tell(&app, session.id, SessionInput::RestoreIn { runtime }).await
}

async fn finish(app: &Arc<App>, caller: &Caller, session: SessionId, stop: Stop) -> Reply<Session> {
    let input = SessionInput::Stop { by: name(app, caller), why: stop.why.unwrap_or_default() };
    let answer = tell(app, session, input).await?;
    if !stop.cleanup {
        return Ok(answer);
    }
    match app.handle.ask(Input::Session { session, input: SessionInput::Cleanup }).await {
        Ok(_) => {}
        // Its process is still being ended. This call does not wait for that.
        Err(ao_engine::AskError::Refused(refusal)) => {
            tracing::debug!(%session, %refusal, "the workspace stays for now");
            clean_later(app, session);
        }
        Err(other) => return Err(other.into()),
    }
    Ok(Json(look(app, session).await?))
}

/// Requests the removal of the workspace as soon as the session has ended, if the daemon still runs then.
fn clean_later(app: &Arc<App>, session: SessionId) {
    let (handle, stop) = (app.handle.clone(), app.stop.clone());
    let mut events = handle.subscribe(app.hub.last());
    app.tasks.spawn(async move {
        let ended = async {
            loop {
                let input = Input::Session { session, input: SessionInput::Cleanup };
                let over =
                    handle.view(move |state| state.sessions.get(&session).is_none_or(|it| !it.is_live()));
                if over.await? {
                    // The deletion gate decides, and logs its decision.
                    return handle.ask(input).await.map(|_| ());
                }
                loop {
                    match events.next().await {
                        Ok(Some(event)) if event.event.session() == Some(session) => break,
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => return Ok(()),
                    }
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            done = ended => if let Err(err) = done {
                tracing::warn!(%session, %err, "the workspace could not be asked to go");
            }
        }
    });
}

pub(super) async fn tell(app: &App, session: SessionId, input: SessionInput) -> Reply<Session> {
    app.handle.ask(Input::Session { session, input }).await?;
    Ok(Json(look(app, session).await?))
}

/// Returns the name of the caller in the log.
pub(super) fn name(app: &App, caller: &Caller) -> String {
    match caller {
        Caller::Session(agent) => agent.name.clone(),
        Caller::Owner | Caller::Anonymous => app.owner.clone(),
    }
}
