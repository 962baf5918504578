//! The feed of events.

use std::sync::Arc;

use ao_api::{Event, Problem};
use ao_core::SessionId;
use ao_engine::EngineError;
use ao_ports::StoreError;
use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use tokio::time::timeout;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Asked, Call, find};
use crate::hub::{Next, Watch, Worded};
use crate::metrics::OneOpen;
use crate::problem::Failure;

/// A filter for events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Events after this position in the log; `0` is the beginning. By default new ones only. `Last-Event-ID` takes
    /// precedence.
    after: Option<u64>,
    /// Only those of this session. An agent gets only its own, unless it names another session that it may read.
    session: Option<String>,
}

/// Streams server-sent events. The id of each is its position in the log, and its data an event as JSON on one line.
#[utoipa::path(
    get, path = "/api/events", tag = "events",
    params(
        Which,
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was seen, as browsers send it"),
    ),
    responses((status = 200, description = "A stream that does not end", body = Event, content_type = "text/event-stream")),
)]
pub(super) async fn events(
    Call { app, caller }: Call,
    headers: HeaderMap,
    Asked(which): Asked<Which>,
) -> Result<Response, Failure> {
    let after = match headers.get("last-event-id") {
        None => which.after,
        Some(id) => Some(id.to_str().ok().and_then(|id| id.trim().parse().ok()).ok_or_else(|| {
            Problem::new(400, "invalid-event-id", "the `Last-Event-ID` is not the place of an event")
        })?),
    };
    let only = match (which.session, &caller) {
        (Some(meant), _) => Some(find(&app, caller.clone(), meant, true).await?.id),
        (None, Caller::Session(agent)) => Some(agent.id),
        (None, _) => None,
    };
    let mut watch = app.hub.watch(after);
    // A client that resumes from events that were pruned gets an error at once, not a stream that breaks off.
    let first = match after {
        Some(after) if after < app.hub.last() => Some(watch.next(&app.hub).await.map_err(|err| lost(&err))?),
        _ => None,
    };
    let open = app.metrics.viewers.one();
    let stream = Stream { app, watch, only, first, begun: false, _open: open };
    let body = Body::from_stream(stream::unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), stream))
    }));
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

struct Stream {
    app: Arc<App>,
    watch: Watch,
    only: Option<SessionId>,
    first: Option<Next>,
    begun: bool,
    _open: OneOpen,
}

impl Stream {
    /// Returns the next bytes to send, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.begun {
            // Lets a client that waits for the start know that it is connected.
            self.begun = true;
            return Some(Bytes::from_static(b": events\n\n"));
        }
        loop {
            let next = match self.first.take() {
                Some(first) => first,
                None => {
                    let heartbeat = self.app.limits.heartbeat;
                    tokio::select! {
                        () = self.app.stop.cancelled() => return None,
                        next = timeout(heartbeat, self.watch.next(&self.app.hub)) => match next {
                            Err(_) => return Some(Bytes::from_static(b":\n\n")),
                            Ok(Ok(next)) => next,
                            Ok(Err(err)) => {
                                tracing::warn!(%err, "a stream of events broke off");
                                return None;
                            }
                        },
                    }
                }
            };
            match next {
                Next::Over => return None,
                Next::Event(event) if self.wanted(&event) => return Some(event.bytes.clone()),
                Next::Event(_) => {}
            }
        }
    }

    fn wanted(&self, event: &Worded) -> bool {
        self.only.is_none_or(|only| event.session == Some(only))
    }
}

fn lost(err: &EngineError) -> Failure {
    match err {
        EngineError::Store(StoreError::Pruned { first_kept }) => Problem::new(
            410,
            "events-removed",
            format!("events before {first_kept} have been removed by retention"),
        )
        .hint("read `GET /api/sessions` anew, and watch from its `seq` on")
        .into(),
        other => Problem::new(503, "not-watched", other.to_string()).into(),
    }
}
