//! What lies on disk, and what may go.

use std::sync::Arc;

use ao_api::{Cleanup, CleanupOrder, Problem};
use axum::Json;
use axum::extract::State;

use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Given, find};
use crate::problem::Failure;

/// What a clean-up would do now: every tree with its size, what would become of it, and why.
#[utoipa::path(get, path = "/api/workspaces", tag = "workspaces", responses((status = 200, body = Cleanup)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<Cleanup>, Failure> {
    let order = CleanupOrder { dry_run: true, ..CleanupOrder::default() };
    Ok(Json(app.daemon.cleanup(&order).await?))
}

/// Removes what may go. What would lose work stays, with the reason.
#[utoipa::path(
    post, path = "/api/workspaces/cleanup", tag = "workspaces", request_body = CleanupOrder,
    responses((status = 200, body = Cleanup)),
)]
pub(super) async fn cleanup(
    State(app): State<Arc<App>>,
    caller: Caller,
    Given(mut order): Given<CleanupOrder>,
) -> Result<Json<Cleanup>, Failure> {
    if order.discard && order.session.is_none() {
        return Err(Problem::new(422, "invalid", "work is thrown away one session at a time")
            .hint("name it with `session`")
            .into());
    }
    if let Some(meant) = order.session.take() {
        order.session = Some(find(&app, caller, meant, false).await?.id.to_string());
    }
    let cleaning = app.clone();
    app.to_the_end(async move { Ok(Json(cleaning.daemon.cleanup(&order).await?)) }).await
}
