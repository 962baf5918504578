//! Workspaces on disk, and their removal.

use std::sync::Arc;

use ao_api::{Cleanup, CleanupOrder, Problem};
use ao_core::ProjectId;
use ao_daemon::cleanup::CleanupRequest;
use axum::Json;
use axum::extract::State;

use crate::app::App;
use crate::extract::{Call, Given, find};
use crate::problem::Reply;
use crate::to_api;

/// Reports what a clean-up would do now: every workspace with its size, the decision, and its reasons.
#[utoipa::path(get, path = "/api/workspaces", tag = "workspaces", responses((status = 200, body = Cleanup)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Reply<Cleanup> {
    let request = CleanupRequest { dry_run: true, ..CleanupRequest::default() };
    Ok(Json(to_api::daemon::cleanup(app.daemon.cleanup(&request).await?)))
}

/// Removes workspaces that may go. Those with unsaved work stay, with the reason.
#[utoipa::path(
    post, path = "/api/workspaces/cleanup", tag = "workspaces", request_body = CleanupOrder,
    responses((status = 200, body = Cleanup)),
)]
pub(super) async fn cleanup(Call { app, caller }: Call, Given(order): Given<CleanupOrder>) -> Reply<Cleanup> {
    if order.discard && order.session.is_none() {
        return Err(Problem::new(422, "invalid", "work is thrown away one session at a time")
            .hint("name it with `session`")
            .into());
    }
    let session = match order.session {
        Some(meant) => Some(find(&app, caller, meant, false).await?.id),
        None => None,
    };
    let request = CleanupRequest {
        session,
        project: order.project_id.map(|id| ProjectId::new(&id)),
        dry_run: order.dry_run,
        artifacts: order.artifacts,
        discard: order.discard,
    };
    app.to_the_end(async move |app| Ok(Json(to_api::daemon::cleanup(app.daemon.cleanup(&request).await?))))
        .await
}
