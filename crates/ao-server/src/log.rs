//! One log line per request: route, caller and status. It contains no bodies, no queries of URLs and no tokens.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;
use tracing::{Instrument, field};

use crate::app::App;
use crate::auth::Caller;

pub(crate) async fn log(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", %method, route, status = field::Empty);
    let response = next.run(request).instrument(span.clone()).await;
    let took = began.elapsed();
    let caller = response.extensions().get::<Caller>().map_or("refused", Caller::word);
    let status = response.status().as_u16();
    app.metrics.request(&method, &route, status, took);
    let _entered = span.enter();
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    if status >= 500 {
        tracing::warn!(status, ms, caller, "request failed");
    } else {
        tracing::debug!(status, ms, caller, "request");
    }
    // After the line, which has it already. Collectors of spans get it from here.
    span.record("status", status);
    response
}

const FRAME_OPTIONS: HeaderName = HeaderName::from_static("x-frame-options");

/// Adds security headers for browsers to every response.
pub(crate) async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
