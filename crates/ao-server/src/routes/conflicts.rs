//! Branches that conflict with each other.

use ao_api::{Conflict, Conflicts};
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::extract::{Asked, Call, Part};
use crate::forge::project;
use crate::problem::Reply;
use crate::to_api;

/// Compares all open pull requests and the work of all live sessions of a project, with uncommitted changes.
#[utoipa::path(
    get, path = "/api/projects/{id}/conflicts", tag = "pulls",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = Conflicts)),
)]
pub(super) async fn list(Call { app, caller }: Call, Part(id): Part) -> Reply<Conflicts> {
    let project = project(&app, &caller, Some(&id))?;
    let report = app.daemon.forecasts.conflicts(&project).await?;
    Ok(Json(to_api::daemon::conflicts(&project, report)))
}

/// The pair to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// A session, a pull request such as `7` or `my-app!7`, or a branch.
    a: String,
    /// Another one.
    b: String,
}

/// Returns the conflicts of two branches, with both versions of all lines.
#[utoipa::path(
    get, path = "/api/projects/{id}/conflicts/between", tag = "pulls",
    params(("id" = String, Path, description = "The name of the project"), Which),
    responses((status = 200, body = Conflict)),
)]
pub(super) async fn between(
    Call { app, caller }: Call,
    Part(id): Part,
    Asked(which): Asked<Which>,
) -> Reply<Conflict> {
    let project = project(&app, &caller, Some(&id))?;
    let clash = app.daemon.forecasts.conflict(&project, &which.a, &which.b).await?;
    Ok(Json(to_api::daemon::conflict(clash)))
}
