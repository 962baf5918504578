//! The schedule.

use ao_api::Plan;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Asked, Call};
use crate::forge::project;
use crate::problem::{Failure, Reply};
use crate::to_api;

/// A filter for the schedule.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only this project; by default all.
    pub(super) project: Option<String>,
}

/// Returns the schedule: the work that runs, will run, and waits, with reasons.
#[utoipa::path(get, path = "/api/plan", tag = "daemon", params(Which), responses((status = 200, body = Plan)))]
pub(super) async fn show(Call { app, caller }: Call, Asked(which): Asked<Which>) -> Reply<Plan> {
    let now = app.clock.now();
    let of = within(&app, &caller, which.project.as_deref())?;
    Ok(Json(app.handle.view(move |state| to_api::plan(state, now, of.as_ref())).await?))
}

/// Returns the project of a filter; for an agent its own, and all for callers that may see all.
pub(super) fn within(
    app: &App,
    caller: &Caller,
    named: Option<&str>,
) -> Result<Option<ao_core::ProjectId>, Failure> {
    match (named, caller) {
        (None, Caller::Owner) => Ok(None),
        (named, caller) => project(app, caller, named).map(Some),
    }
}
