//! Checks: their configuration, their runs, and the output of those.

use std::collections::BTreeMap;
use std::sync::Arc;

use ao_api::client::CheckRunQuery;
use ao_api::{CheckLog, CheckRun, CheckRunState, CheckRuns, Checks, Flake, Flakes, NewCheckRun, Problem};
use ao_ports::{CheckOrder, CheckWhat, RunFilter, RunState, Scm, ScmError};
use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Asked, Call, Given, Part, Within};
use crate::forge::{allow, among, invalid, owner, project, projects, pull_meant, see};
use crate::problem::{CodedReply, Failure, Reply, forbidden};
use crate::to_api::{self, same_name};

const LISTED: usize = 100;
const LISTED_MOST: usize = 10_000;
const PIECE: u32 = 64 * 1024;
const PIECE_MOST: u32 = 1024 * 1024;

/// Lists runs of checks, the newest first.
#[utoipa::path(get, path = "/api/checks", tag = "checks", params(CheckRunQuery), responses((status = 200, body = CheckRuns)))]
pub(super) async fn list(Call { app, caller }: Call, Asked(which): Asked<CheckRunQuery>) -> Reply<CheckRuns> {
    let state = which.state.map(|state| {
        same_name!(state, CheckRunState => RunState: Queued, Running, Passed, Failed, Skipped, Cancelled, Broken)
    });
    let (within, pull) = match &which.pull {
        Some(meant) => {
            let pull = pull_meant(&app, &caller, meant, which.project.as_deref()).await?;
            (vec![pull.project.clone()], Some(pull))
        }
        None => (projects(&app, &caller, which.project.as_deref())?, None),
    };
    let limit = which.limit.unwrap_or(LISTED).clamp(1, LISTED_MOST);
    let mut all = Vec::new();
    for project in &within {
        let (pull, check) = (pull.clone(), which.check.clone());
        let filter = RunFilter { project: Some(project.clone()), pull, check, state, alone: false, limit };
        let runs = async { Ok(app.daemon.looks.scm(project)?.need_checks()?.runs(&filter).await?) };
        let runs = among(&within, runs.await)?.unwrap_or_default();
        // The forge may list runs of other projects, which this caller may not see.
        all.extend(runs.into_iter().filter(|run| run.project == *project));
    }
    all.sort_by_key(|run| std::cmp::Reverse(run.queued_at));
    all.truncate(limit);
    Ok(Json(CheckRuns { runs: all.iter().map(to_api::check_run).collect() }))
}

/// Runs checks: on a pull request merged onto its base, or on a revision as it is. Follow them by their ids.
#[utoipa::path(
    post, path = "/api/checks", tag = "checks", request_body = NewCheckRun,
    responses((status = 202, description = "The runs; those whose result was known already are over", body = CheckRuns)),
)]
pub(super) async fn run(
    Call { app, caller }: Call,
    Given(request): Given<NewCheckRun>,
) -> CodedReply<CheckRuns> {
    let (project, what, pull) = match (&request.pull, &request.revision) {
        (Some(meant), None) => {
            let pull = pull_meant(&app, &caller, meant, request.project_id.as_deref()).await?;
            allow(&caller, AgentAct::Tend(&pull.project, owner(&app, &pull).await?))?;
            (pull.project.clone(), CheckWhat::Pull(pull.clone()), Some(pull))
        }
        (None, Some(revision)) => {
            let project = project(&app, &caller, request.project_id.as_deref())?;
            allow(&caller, AgentAct::Check(&project))?;
            (project, CheckWhat::Revision(revision.clone()), None)
        }
        _ => return Err(invalid("say what is to be checked: either a pull request or a revision")),
    };
    let scm = app.daemon.looks.scm(&project)?;
    let order = CheckOrder { project, what, checks: request.checks, again: request.again };
    app.to_the_end(async move |app| {
        let runs = scm.need_checks()?.check(&order).await?;
        if let Some(pull) = pull {
            see(&app, &pull).await?;
        }
        let runs = runs.iter().map(to_api::check_run).collect();
        Ok((StatusCode::ACCEPTED, Json(CheckRuns { runs })))
    })
    .await
}

/// Returns one run of a check.
#[utoipa::path(
    get, path = "/api/checks/{id}", tag = "checks",
    params(("id" = String, Path, description = "The id of the run"), Within),
    responses((status = 200, body = CheckRun)),
)]
pub(super) async fn show(
    Call { app, caller }: Call,
    Part(id): Part,
    Asked(within): Asked<Within>,
) -> Reply<CheckRun> {
    let (_, run) = find_run(&app, &caller, &id, within.project.as_deref()).await?;
    Ok(Json(to_api::check_run(&run)))
}

/// A range of a log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Piece {
    /// Only in this project. By default an agent's own; otherwise any.
    project: Option<String>,
    /// The offset of the first byte; by default the beginning.
    from: Option<u64>,
    /// The maximum number of bytes; 64 KiB by default, at most 1 MiB.
    limit: Option<u32>,
    /// Waits for output if there is none yet, up to 25 seconds.
    wait: Option<bool>,
}

/// Returns a part of the output of a run, as text.
#[utoipa::path(
    get, path = "/api/checks/{id}/log", tag = "checks",
    params(("id" = String, Path, description = "The id of the run"), Piece),
    responses((status = 200, body = CheckLog)),
)]
pub(super) async fn log(
    Call { app, caller }: Call,
    Part(id): Part,
    Asked(piece): Asked<Piece>,
) -> Reply<CheckLog> {
    let (scm, run) = find_run(&app, &caller, &id, piece.project.as_deref()).await?;
    let checks = scm.need_checks()?;
    let (from, limit) = (piece.from.unwrap_or(0), piece.limit.unwrap_or(PIECE).clamp(1, PIECE_MOST));
    if piece.wait == Some(true)
        && let Some(part) = app.awaited(checks.check_log(&run.id, from, limit, true)).await
    {
        return Ok(Json(to_api::check_log(part?)));
    }
    Ok(Json(to_api::check_log(checks.check_log(&run.id, from, limit, false).await?)))
}

/// Lists the configured checks of a project; if there are none, those that its files suggest.
#[utoipa::path(
    get, path = "/api/projects/{id}/checks", tag = "checks",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = Checks)),
)]
pub(super) async fn of_project(Call { app, caller }: Call, Part(id): Part) -> Reply<Checks> {
    let project = project(&app, &caller, Some(&id))?;
    Ok(Json(to_api::daemon::checks(app.daemon.config.checks(&project).await?)))
}

/// Lists the flaky failures of a project's checks, the latest first.
#[utoipa::path(
    get, path = "/api/projects/{id}/flakes", tag = "checks",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = Flakes)),
)]
pub(super) async fn flakes(Call { app, caller }: Call, Part(id): Part) -> Reply<Flakes> {
    let project = project(&app, &caller, Some(&id))?;
    let known =
        app.handle.view(move |state| state.projects.get(&project).map(|known| known.flakes.clone())).await?;
    let mut flakes: Vec<Flake> = known
        .into_iter()
        .flat_map(BTreeMap::into_values)
        .map(|flake| Flake {
            check: flake.check,
            signature: flake.signature,
            excerpt: flake.excerpt,
            times: flake.times,
            first_at: to_api::time(flake.first),
            last_at: to_api::time(flake.last),
        })
        .collect();
    flakes.sort_by_key(|flake| std::cmp::Reverse(flake.last_at));
    Ok(Json(Flakes { flakes }))
}

/// Finds a run and its forge.
async fn find_run(
    app: &App,
    caller: &Caller,
    id: &str,
    named: Option<&str>,
) -> Result<(Arc<dyn Scm>, ao_ports::CheckRun), Failure> {
    let within = projects(app, caller, named)?;
    for project in &within {
        let found = async {
            let scm = app.daemon.looks.scm(project)?;
            match scm.need_checks()?.run(id).await {
                Err(ScmError::NotFound { .. }) => Ok(None),
                run => Ok(Some((scm, run?))),
            }
        };
        let Some(Some((scm, run))) = among(&within, found.await)? else { continue };
        // A forge may also have runs of other projects.
        if !caller.may(AgentAct::Read(&run.project)) {
            return Err(forbidden().into());
        }
        if within.contains(&run.project) {
            return Ok((scm, run));
        }
    }
    let shown: String = id.chars().take(100).collect();
    Err(Problem::new(404, "unknown-run", format!("there is no run `{shown}`"))
        .hint("`ao check list` shows the runs there were")
        .into())
}
