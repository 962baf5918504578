//! Usage of budgets.

use std::sync::Arc;

use ao_api::Budgets;
use axum::Json;
use axum::extract::State;

use crate::app::App;
use crate::problem::Reply;
use crate::to_api;

/// Lists the usage of all shared budgets, and the accounts that a provider refuses.
#[utoipa::path(get, path = "/api/budgets", tag = "daemon", responses((status = 200, body = Budgets)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Reply<Budgets> {
    let now = app.clock.now();
    Ok(Json(app.handle.view(move |state| to_api::budgets(state, now)).await?))
}
