//! What is spent of what.

use std::sync::Arc;

use ao_api::Budgets;
use axum::Json;
use axum::extract::State;

use crate::app::App;
use crate::problem::Failure;
use crate::tell;

/// What is spent of every budget that sessions share, and which accounts a provider refuses.
#[utoipa::path(get, path = "/api/budgets", tag = "daemon", responses((status = 200, body = Budgets)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<Budgets>, Failure> {
    let now = app.clock.now();
    Ok(Json(app.handle.view(move |state| tell::budgets(state, now)).await?))
}
