//! Pull requests: lists, details and changes.
//!
//! Open ones are listed from the engine's state, so a list costs the forge nothing, however many there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_api::client::PullQuery;
use ao_api::{Diff, OpenState, Problem, Pull, PullDetail, PullEdit, PullStateFilter, Pulls};
use ao_core::pull::Pull as Known;
use ao_core::session::Session;
use ao_core::{ProjectId, PullId, SessionId, State as Everything};
use ao_ports::{PullFilter, PullFilterState, PullRow, Scm};
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Asked, Call, Given, Part, PullCall, PullName, Within, find_among};
use crate::forge::{allow, among, detail, not_empty, owner, projects, pull_meant, see};
use crate::problem::{Failure, Reply};
use crate::to_api::{self, same_name};

const LISTED: usize = 1000;
const LISTED_MOST: usize = 10_000;
const DIFF: usize = 1024 * 1024;
const DIFF_MOST: usize = 16 * 1024 * 1024;

/// Lists pull requests, the newest first, one project after the other.
#[utoipa::path(get, path = "/api/pulls", tag = "pulls", params(PullQuery), responses((status = 200, body = Pulls)))]
pub(super) async fn list(Call { app, caller }: Call, Asked(which): Asked<PullQuery>) -> Reply<Pulls> {
    let state = which.state.unwrap_or(PullStateFilter::Open);
    let state = same_name!(state, PullStateFilter => PullFilterState: Open, Merged, Closed, All);
    let within = projects(&app, &caller, which.project.as_deref())?;
    let session = match &which.session {
        Some(meant) => Some(session_meant(&app, &caller, meant).await?),
        None => None,
    };
    let limit = which.limit.unwrap_or(LISTED).clamp(1, LISTED_MOST);
    let filter = PullFilter {
        state,
        head_branch: which.head,
        base_branch: which.base,
        author: which.author,
        labels: labels(which.label.as_deref()),
        // The filter by session is applied here, not by the forge.
        limit: if session.is_some() { LISTED_MOST } else { limit },
    };
    let rows = match state {
        PullFilterState::Open => None,
        _ => Some(ask_forges(&app, &within, &filter).await?),
    };
    let told = app.handle.view(move |state| match rows {
        None => open_ones(state, &within, &filter, session, limit),
        Some(rows) => {
            let owned = |row: &&PullRow| {
                session.is_none() || session == state.pulls.get(&row.pull).and_then(|pull| pull.owner)
            };
            let pulls =
                rows.iter().filter(owned).take(limit).map(|row| to_api::pull_row(state, row)).collect();
            Pulls { pulls, total: None }
        }
    });
    Ok(Json(told.await?))
}

fn open_ones(
    state: &Everything,
    within: &[ProjectId],
    filter: &PullFilter,
    session: Option<SessionId>,
    limit: usize,
) -> Pulls {
    let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
    let wanted = |pull: &&Known| {
        pull.is_open()
            && within.contains(&pull.id.project)
            && (session.is_none() || session == pull.owner)
            && is(&filter.head_branch, &pull.facts.head_branch)
            && is(&filter.base_branch, &pull.facts.base_branch)
            && filter.author.as_ref().is_none_or(|login| pull.facts.author.is(login))
            && filter.labels.is_subset(&pull.facts.labels)
    };
    let mut chosen: Vec<&Known> = state.pulls.values().map(|pull| &**pull).filter(wanted).collect();
    chosen.sort_by_key(|pull| (&pull.id.project, std::cmp::Reverse(pull.id.number)));
    let total = (chosen.len() > limit).then_some(chosen.len() as u64);
    let pulls: Vec<Pull> = chosen.into_iter().take(limit).map(|pull| to_api::pull(state, pull)).collect();
    Pulls { pulls, total }
}

async fn ask_forges(app: &App, within: &[ProjectId], filter: &PullFilter) -> Result<Vec<PullRow>, Failure> {
    let mut all = Vec::new();
    for project in within {
        let rows = async { Ok(app.daemon.looks.scm(project)?.need_reviews()?.list(project, filter).await?) };
        all.extend(among(within, rows.await)?.unwrap_or_default());
    }
    Ok(all)
}

/// Finds the session of a filter. An agent may name any session of its project, but learns of no others.
async fn session_meant(app: &Arc<App>, caller: &Caller, meant: &str) -> Result<SessionId, Failure> {
    let may = |caller: &Caller, session: &Session| caller.may(AgentAct::Read(&session.spec.project));
    Ok(find_among(app, caller.clone(), meant.to_owned(), may).await?.id)
}

/// Returns one pull request, with its reviews and the reasons against a merge.
#[utoipa::path(
    get, path = "/api/pulls/{id}", tag = "pulls",
    params(PullName, Within),
    responses((status = 200, body = PullDetail)),
)]
pub(super) async fn show(PullCall { app, id, .. }: PullCall) -> Reply<PullDetail> {
    let scm = app.daemon.looks.scm(&id.project)?;
    Ok(Json(told(&app, &*scm, &id).await?))
}

/// Changes a pull request: title, description, base, draft state, open or closed.
#[utoipa::path(
    patch, path = "/api/pulls/{id}", tag = "pulls", request_body = PullEdit,
    params(PullName, Within),
    responses((status = 200, body = PullDetail)),
)]
pub(super) async fn edit(
    PullCall { app, caller, id }: PullCall,
    Given(edit): Given<PullEdit>,
) -> Reply<PullDetail> {
    allow(&caller, AgentAct::Tend(&id.project, owner(&app, &id).await?))?;
    if let Some(title) = &edit.title {
        not_empty(title, "a pull request has a title")?;
    }
    let order = ao_ports::PullEdit {
        title: edit.title,
        body: edit.body,
        base_branch: edit.base,
        draft: edit.draft,
        add_labels: edit.add_labels.into_iter().collect(),
        remove_labels: edit.remove_labels.into_iter().collect(),
        closed: edit.state.map(|state| state == OpenState::Closed),
    };
    let scm = app.daemon.looks.scm(&id.project)?;
    app.to_the_end(async move |app| {
        scm.need_reviews()?.edit(&id, &order).await?;
        see(&app, &id).await?;
        Ok(Json(told(&app, &*scm, &id).await?))
    })
    .await
}

/// The part of a diff.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Much {
    /// Only in this project. By default an agent's own; otherwise any.
    project: Option<String>,
    /// The maximum number of bytes; 1 MiB by default, at most 16 MiB.
    limit: Option<usize>,
}

/// Returns the diff of a pull request, in git's format.
#[utoipa::path(
    get, path = "/api/pulls/{id}/diff", tag = "pulls",
    params(PullName, Much),
    responses((status = 200, body = Diff)),
)]
pub(super) async fn diff(
    Call { app, caller }: Call,
    Part(meant): Part,
    Asked(much): Asked<Much>,
) -> Reply<Diff> {
    let id = pull_meant(&app, &caller, &meant, much.project.as_deref()).await?;
    let limit = much.limit.unwrap_or(DIFF).clamp(1, DIFF_MOST);
    // One byte more than requested shows whether there is more.
    let diff = app.daemon.looks.scm(&id.project)?.need_reviews()?.diff(&id, limit + 1).await?;
    Ok(Json(cut(diff, limit)))
}

/// Returns the beginning of a diff, in whole lines if possible.
fn cut(mut diff: String, limit: usize) -> Diff {
    let cut = diff.len() > limit;
    if cut {
        let end = diff.floor_char_boundary(limit);
        let lines = diff[..end].rfind('\n').map_or(end, |last| last + 1);
        diff.truncate(lines);
    }
    Diff { diff, cut }
}

/// Returns a pull request as it is now, as a wire type.
pub(super) async fn told(app: &App, scm: &dyn Scm, id: &PullId) -> Result<PullDetail, Failure> {
    let detail = detail(scm, id).await?;
    let now = app.clock.now();
    Ok(app.handle.view(move |state| to_api::pull_detail(state, &detail, now)).await?)
}

pub(super) fn labels(given: Option<&str>) -> BTreeSet<String> {
    let labels = given.unwrap_or_default().split(',').map(str::trim);
    labels.filter(|label| !label.is_empty()).map(str::to_owned).collect()
}

/// Returns the problem for a pull request that is closed or merged.
pub(super) fn is_over(id: &PullId) -> Problem {
    Problem::new(409, "pull-over", format!("{id} is merged or closed"))
        .hint(format!("`ao pr show {id}` shows how it ended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_is_cut_between_lines_and_never_within_a_letter() {
        let diff = |limit| {
            let Diff { diff, cut } = cut("one\ntwö\n".into(), limit);
            (diff, cut)
        };
        assert_eq!(diff(9), ("one\ntwö\n".into(), false));
        assert_eq!(diff(8), ("one\n".into(), true));
        assert_eq!(diff(7), ("one\n".into(), true));
        assert_eq!(diff(2), ("on".into(), true));
    }
}
