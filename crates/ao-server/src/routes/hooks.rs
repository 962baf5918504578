//! Hooks: their configuration, their logs, and runs by hand.

use std::sync::Arc;

use ao_api::{HookLog, HookLogs, HookTest, HookTested, Hooks, Problem};
use ao_core::hook::HookPoint;
use axum::Json;
use axum::extract::State;

use crate::app::App;
use crate::extract::{Asked, Call, Part, Perhaps, Within, find};
use crate::problem::Reply;
use crate::to_api;

/// Lists the configured hooks, in the order in which they run.
#[utoipa::path(
    get, path = "/api/hooks", tag = "hooks", params(Within), responses((status = 200, body = Hooks)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, Asked(within): Asked<Within>) -> Reply<Hooks> {
    let project = match within.project.as_deref() {
        Some(named) => Some(app.daemon.config.project(Some(named))?),
        None => None,
    };
    let hooks = app.daemon.jobs.hooks(project.as_ref()).await?;
    Ok(Json(Hooks { hooks: hooks.into_iter().map(to_api::daemon::hook).collect() }))
}

/// Lists the logs of hooks and of commands of reactions, the newest first.
#[utoipa::path(get, path = "/api/hooks/logs", tag = "hooks", responses((status = 200, body = HookLogs)))]
pub(super) async fn logs(State(app): State<Arc<App>>) -> Reply<HookLogs> {
    let logs = app.daemon.jobs.hook_logs().await?;
    Ok(Json(HookLogs { logs: logs.into_iter().map(|log| to_api::daemon::hook_log(log, None)).collect() }))
}

/// Returns one log with its content.
#[utoipa::path(
    get, path = "/api/hooks/logs/{id}", tag = "hooks",
    params(("id" = String, Path, description = "An id, or any part of one that no other has")),
    responses((status = 200, body = HookLog)),
)]
pub(super) async fn log(State(app): State<Arc<App>>, Part(id): Part) -> Reply<HookLog> {
    let (log, text) = app.daemon.jobs.hook_log(&id).await?;
    Ok(Json(to_api::daemon::hook_log(log, Some(text))))
}

/// Runs the hooks of a point now. They really run; their result has no further effect.
#[utoipa::path(
    post, path = "/api/hooks/{id}/test", tag = "hooks", request_body = HookTest,
    params(("id" = String, Path, description = "A point, such as `before-merge`")),
    responses((status = 200, body = HookTested)),
)]
pub(super) async fn test(
    Call { app, caller }: Call,
    Part(point): Part,
    Perhaps(test): Perhaps<HookTest>,
) -> Reply<HookTested> {
    let point = point.parse::<HookPoint>().map_err(|err| {
        Problem::new(400, "bad-point", err.to_string())
            .candidates(HookPoint::ALL.iter().map(ToString::to_string).collect())
            .hint("`ao hooks list` shows what is configured")
    })?;
    let session = match test.session {
        Some(meant) => Some(find(&app, caller, meant, true).await?),
        None => None,
    };
    let project = match (&session, test.project_id.as_deref()) {
        (Some(session), _) => session.spec.project.clone(),
        (None, named) => app.daemon.config.project(named)?,
    };
    app.to_the_end(async move |app| {
        let session = session.map(|session| session.id);
        let trial = app.daemon.jobs.try_hooks(&project, point, session).await?;
        Ok(Json(to_api::daemon::hook_tested(trial)))
    })
    .await
}
