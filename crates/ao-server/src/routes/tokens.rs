//! Tokens, and the sign-in of browsers.

use std::sync::Arc;

use ao_api::{NewToken, Problem, SignIn, Token};
use axum::Json;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::auth::COOKIE_LASTS;
use crate::extract::{Call, Given, Perhaps, find};
use crate::problem::{Failure, Reply};

/// Creates a token for a session or a code for one sign-in of a browser; by default returns the token of the API
/// itself.
#[utoipa::path(
    post, path = "/api/tokens", tag = "tokens", request_body = NewToken,
    responses((status = 200, body = Token)),
)]
pub(super) async fn make(Call { app, caller }: Call, Perhaps(wish): Perhaps<NewToken>) -> Reply<Token> {
    let token = match wish {
        NewToken { session: Some(_), sign_in: true } => {
            let title = "a token for a session is no code to sign in with: ask for one of them";
            return Err(Problem::new(422, "invalid", title).into());
        }
        NewToken { session: Some(meant), .. } => {
            let session = find(&app, caller, meant, true).await?;
            app.daemon.token_for(&session).ok_or_else(|| {
                Problem::new(409, "no-token", "a session has a token only while it has an agent")
            })?
        }
        NewToken { sign_in: true, .. } => {
            let made = app.auth.code(app.clock.now());
            let made = made.map_err(|err| Problem::new(500, "no-randomness", err.to_string()))?;
            made.ok_or_else(|| Problem::new(429, "too-many-codes", "many codes wait to be used already"))?
        }
        NewToken { .. } => app.auth.token(),
    };
    Ok(Json(Token { token }))
}

/// Creates a new token. The old one, and every browser that signed in with it, becomes invalid.
#[utoipa::path(post, path = "/api/tokens/rotate", tag = "tokens", responses((status = 200, body = Token)))]
pub(super) async fn rotate(State(app): State<Arc<App>>) -> Reply<Token> {
    let rotating = app.auth.clone();
    let rotated = tokio::task::spawn_blocking(move || rotating.rotate()).await;
    let rotated = rotated.map_err(|err| Problem::new(500, "bug", err.to_string()))?;
    let token = rotated.map_err(|err| {
        let mut problem = Problem::new(500, "token-not-kept", err.to_string());
        problem.detail = std::error::Error::source(&err).map(ToString::to_string);
        problem
    })?;
    Ok(Json(Token { token }))
}

/// Signs a browser in, with a code that the owner requested a moment ago. Each code is valid once.
#[utoipa::path(
    post, path = "/api/sign-in", tag = "tokens", security(()), request_body = SignIn,
    responses((status = 204, description = "Signed in: the cookie says so from now on")),
)]
pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Given(SignIn { code }): Given<SignIn>,
) -> Result<Response, Failure> {
    let word = app.auth.sign_in(&code, app.clock.now()).ok_or_else(|| {
        Problem::new(401, "bad-code", "the code is wrong, too old, or was used already")
            .hint("`ao dashboard` opens the browser with a new one")
    })?;
    let (name, lasts) = (app.names().cookie(), COOKIE_LASTS.as_secs());
    let cookie = format!("{name}={word}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict");
    let cookie = HeaderValue::try_from(cookie).map_err(|err| Problem::new(500, "bug", err.to_string()))?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}
