//! New pull requests, and the session that they belong to.

use std::sync::Arc;

use ao_api::{NewPull, PullDetail};
use ao_core::pull::PullInput;
use ao_core::{Input, ProjectId, SessionId};
use axum::Json;
use axum::http::StatusCode;

use super::merge::owned_by_another;
use super::pulls::told;
use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Call, Given, find};
use crate::forge::{allow, author, invalid, project, see};
use crate::problem::{CodedReply, Failure, forbidden};

/// Opens a pull request, or returns the open one of the same branches. One that an agent opens belongs to its session.
#[utoipa::path(
    post, path = "/api/pulls", tag = "pulls", request_body = NewPull,
    responses(
        (status = 201, description = "A new pull request", body = PullDetail),
        (status = 200, description = "The one that was open already", body = PullDetail),
    ),
)]
pub(super) async fn open(Call { app, caller }: Call, Given(new): Given<NewPull>) -> CodedReply<PullDetail> {
    let claims = claimer(&app, &caller, &new).await?;
    let project = match (&new.project_id, &claims) {
        (None, Some(claims)) => claims.project.clone(),
        (named, _) => project(&app, &caller, named.as_deref())?,
    };
    allow(&caller, AgentAct::Open(&project))?;
    if claims.as_ref().is_some_and(|claims| claims.project != project) {
        return Err(invalid("a session can own pull requests of its own project only"));
    }
    let head = new.head.clone().or_else(|| claims.as_ref().map(|claims| claims.branch.clone()));
    let head = head.filter(|head| !head.is_empty());
    let head = head.ok_or_else(|| invalid("say which branch is to be merged, or which session's"))?;
    // An orchestrator may open one for the branch of another session. The branch then decides whose it is.
    let claims = claims.filter(|claims| !claims.orchestrates || claims.branch == head);
    if let Caller::Session(agent) = &caller {
        let (of, branch, own) = (project.clone(), head.clone(), agent.id);
        let anothers = app.handle.view(move |state| {
            let kept = state.owner_of_branch(&of, &branch).is_some_and(|whose| whose != own);
            kept || state.live_in(&of).any(|session| session.id != own && session.branch() == branch)
        });
        if !agent.is_orchestrator() && anothers.await? {
            return Err(forbidden().into());
        }
    }
    let base = new.base.clone().or_else(|| app.daemon.config.default_branch(&project));
    let base = base.ok_or_else(|| invalid("say which branch it is to be merged into"))?;
    let order = ao_ports::NewPull {
        session: claims.as_ref().map(|claims| claims.session),
        head_branch: head,
        base_branch: base,
        title: new.title.unwrap_or_default(),
        body: new.body,
        draft: new.draft,
        labels: new.labels.into_iter().collect(),
        by: author(&app, &caller),
        project,
    };
    let scm = app.daemon.looks.scm(&order.project)?;
    app.to_the_end(async move |app| {
        // The branches of sessions decide whose it is, and they may have changed since the last look.
        if order.session.is_none() {
            app.daemon.looks.see_where_sessions_stand(&order.project).await;
        }
        let id = scm.open(&order).await?;
        let known = id.clone();
        let known = app.handle.view(move |state| state.pulls.contains_key(&known)).await?;
        see(&app, &id).await?;
        if let Some(session) = order.session {
            owned_by_another(&app, &id, session).await?;
            let input = PullInput::Claim { session };
            app.handle.ask(Input::Pull { pull: id.clone(), input }).await?;
        }
        let status = if known { StatusCode::OK } else { StatusCode::CREATED };
        Ok((status, Json(told(&app, &*scm, &id).await?)))
    })
    .await
}

/// The session that a new pull request belongs to.
struct Claimer {
    session: SessionId,
    project: ProjectId,
    branch: String,
    orchestrates: bool,
}

async fn claimer(app: &Arc<App>, caller: &Caller, new: &NewPull) -> Result<Option<Claimer>, Failure> {
    match (caller, &new.session) {
        (Caller::Session(agent), wished) => {
            let itself = |wished: &String| *wished == agent.name || *wished == agent.id.to_string();
            if wished.as_ref().is_some_and(|wished| !itself(wished)) {
                return Err(forbidden().into());
            }
            Ok(Some(Claimer {
                session: agent.id,
                project: agent.project.clone(),
                branch: agent.branch.clone(),
                orchestrates: agent.is_orchestrator(),
            }))
        }
        (_, Some(meant)) => {
            let session = find(app, caller.clone(), meant.clone(), true).await?;
            Ok(Some(Claimer {
                session: session.id,
                project: session.spec.project.clone(),
                branch: session.branch().to_owned(),
                orchestrates: false,
            }))
        }
        (_, None) => Ok(None),
    }
}
