//! The daemon itself.

use std::sync::Arc;

use ao_api::{
    ChannelTest, ConfigShown, Daemon, Health, HealthStatus, NoticePriority, NotifyChannel, NotifyTest,
    Problem, Reloaded, Stopping,
};
use ao_core::notice::NoticeLevel;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::extract::Perhaps;
use crate::metrics::{Levels, is_queued};
use crate::problem::{Failure, Reply};
use crate::to_api::{self, same_name};

/// Reports that the daemon is there. Needs no authentication.
#[utoipa::path(get, path = "/healthz", tag = "daemon", security(()), responses((status = 200, body = Health)))]
pub(super) async fn healthz(State(app): State<Arc<App>>) -> Json<Health> {
    let status = if app.stop.is_cancelled() { HealthStatus::Stopping } else { HealthStatus::Ok };
    Json(Health { status, version: app.about().version })
}

/// Returns metrics in the OpenMetrics format.
#[utoipa::path(
    get, path = "/metrics", tag = "daemon",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")),
)]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let now = app.clock.now();
    let levels = app.handle.view_at(move |state, seq| Levels::of(state, seq, now)).await?;
    let text = app.metrics.text(levels).map_err(|err| Problem::new(500, "bug", err.to_string()))?;
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

/// The description of the API. A test compares the file with the routes.
const DOCUMENT: &str = include_str!("../../../../docs/openapi.json");

/// Returns this description.
#[utoipa::path(
    get, path = "/api/openapi.json", tag = "daemon",
    responses((status = 200, body = serde_json::Value, content_type = "application/json")),
)]
pub(super) async fn document() -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], DOCUMENT).into_response()
}

/// Describes the daemon.
#[utoipa::path(get, path = "/api/daemon", tag = "daemon", responses((status = 200, body = Daemon)))]
pub(super) async fn about(State(app): State<Arc<App>>) -> Reply<Daemon> {
    let about = app.about();
    let (live, queued, most, seq) = app
        .handle
        .view_at(|state, seq| {
            let queued = state.live().filter(|session| is_queued(session)).count();
            (state.live().count(), queued, state.settings.max_live, seq)
        })
        .await?;
    Ok(Json(Daemon {
        live_sessions: u32::try_from(live).unwrap_or(u32::MAX),
        queued_sessions: u32::try_from(queued).unwrap_or(u32::MAX),
        max_parallel_agents: most,
        seq,
        ..about
    }))
}

/// Ends the daemon. Agents go on, and the next daemon finds them.
#[utoipa::path(post, path = "/api/daemon/stop", tag = "daemon", responses((status = 200, body = Stopping)))]
pub(super) async fn stop(State(app): State<Arc<App>>) -> Reply<Stopping> {
    let pid = app.about().pid;
    let (running, queued) = app
        .handle
        .view(|state| {
            let names = |which: &dyn Fn(&ao_core::session::Session) -> bool| -> Vec<String> {
                state
                    .live()
                    .filter(|session| which(session))
                    .map(|session| session.spec.name.clone())
                    .collect()
            };
            (names(&|session| session.running_attempt().is_some()), names(&is_queued))
        })
        .await?;
    app.stop.cancel();
    Ok(Json(Stopping { pid, running, queued }))
}

/// Reads the configuration again. If it has mistakes, the current one stays in use.
#[utoipa::path(post, path = "/api/daemon/reload", tag = "daemon", responses((status = 200, body = Reloaded)))]
pub(super) async fn reload(State(app): State<Arc<App>>) -> Reply<Reloaded> {
    app.to_the_end(async move |app| {
        let report = app.daemon.reload().await?;
        let configs = app.daemon.config.files();
        Ok(Json(Reloaded { configs, changes: report.changes, needs_restart: report.needs_restart }))
    })
    .await
}

/// Returns the configuration in use.
#[utoipa::path(get, path = "/api/config", tag = "daemon", responses((status = 200, body = ConfigShown)))]
pub(super) async fn config(State(app): State<Arc<App>>) -> Json<ConfigShown> {
    Json(ConfigShown { files: app.daemon.config.files(), yaml: app.daemon.config.shown() })
}

/// Sends a test notice on each channel, and returns the results.
#[utoipa::path(
    post, path = "/api/notify/test", tag = "daemon", request_body = NotifyTest,
    responses((status = 200, body = Vec<ChannelTest>)),
)]
pub(super) async fn notify_test(
    State(app): State<Arc<App>>,
    Perhaps(test): Perhaps<NotifyTest>,
) -> Reply<Vec<ChannelTest>> {
    let level = test.level.unwrap_or(NoticePriority::Info);
    let level = same_name!(level, NoticePriority => NoticeLevel: Urgent, Action, Warning, Info);
    let tried = app.daemon.notify_test(&test.channels, level).await?;
    Ok(Json(tried.into_iter().map(to_api::daemon::channel_test).collect()))
}

/// Lists the channels for notices, with their state.
#[utoipa::path(get, path = "/api/notify", tag = "daemon", responses((status = 200, body = Vec<NotifyChannel>)))]
pub(super) async fn notify_list(State(app): State<Arc<App>>) -> Reply<Vec<NotifyChannel>> {
    let channels = app.daemon.notify_list().await?;
    Ok(Json(channels.into_iter().map(to_api::daemon::notify_channel).collect()))
}
