//! Output of sessions.

use ao_api::{Output, Problem};
use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::extract::{Asked, SessionCall, SessionName};
use crate::problem::{Failure, Reply};
use crate::to_api;

const PIECE: u32 = 64 * 1024;
const PIECE_MOST: u32 = 1024 * 1024;

/// A range of the output.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Piece {
    /// The offset of the first byte; by default the beginning.
    from: Option<u64>,
    /// The last bytes instead; at most 1 MiB.
    tail: Option<u32>,
    /// The maximum number of bytes; 64 KiB by default, at most 1 MiB.
    limit: Option<u32>,
    /// Waits for output if there is none yet, up to 25 seconds.
    wait: Option<bool>,
}

/// Returns a part of the output of a session's program, as text.
#[utoipa::path(
    get, path = "/api/sessions/{id}/output", tag = "output",
    params(SessionName, Piece),
    responses((status = 200, body = Output)),
)]
pub(super) async fn output(
    SessionCall { app, session, .. }: SessionCall,
    Asked(piece): Asked<Piece>,
) -> Reply<Output> {
    let limit = piece.limit.unwrap_or(PIECE).clamp(1, PIECE_MOST);
    let (from, limit) = match (piece.from, piece.tail) {
        (Some(_), Some(_)) => {
            let title = "either `from` or `tail`: both cannot be had";
            return Err(Problem::new(400, "invalid-query", title).into());
        }
        (from, None) => (from.unwrap_or(0), limit),
        (None, Some(tail)) => {
            let tail = tail.min(PIECE_MOST);
            // A program without any output has no end offset.
            let end = Some(app.daemon.terminals.output(&session, u64::MAX, 0, false).await?.next);
            let end = end.filter(|end| *end < u64::MAX).unwrap_or(0);
            (end.saturating_sub(tail.into()), tail.max(1))
        }
    };
    if piece.wait == Some(true)
        && let Some(output) = app.awaited(app.daemon.terminals.output(&session, from, limit, true)).await
    {
        return Ok(Json(to_api::daemon::output(output?)));
    }
    let piece = app.daemon.terminals.output(&session, from, limit, false).await?;
    Ok(Json(to_api::daemon::output(piece)))
}

/// Returns the output of the set-up commands of a session.
#[utoipa::path(
    get, path = "/api/sessions/{id}/setup-log", tag = "output",
    params(SessionName),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(super) async fn setup_log(SessionCall { app, session, .. }: SessionCall) -> Result<Response, Failure> {
    let log = app.daemon.terminals.setup_log(&session).await?;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(CONTENT_TYPE, plain)], log).into_response())
}
