//! Advice.

use ao_api::AdviceList;
use axum::Json;

use super::plan::{Which, within};
use crate::extract::{Asked, Call};
use crate::problem::Reply;
use crate::to_api;

/// Lists advice with reasons, ranked by the amount of work that each item unblocks.
#[utoipa::path(get, path = "/api/advice", tag = "daemon", params(Which), responses((status = 200, body = AdviceList)))]
pub(super) async fn list(Call { app, caller }: Call, Asked(which): Asked<Which>) -> Reply<AdviceList> {
    let now = app.clock.now();
    let of = within(&app, &caller, which.project.as_deref())?;
    Ok(Json(app.handle.view(move |state| to_api::advice(state, now, of.as_ref())).await?))
}
