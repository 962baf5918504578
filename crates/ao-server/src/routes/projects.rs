//! Projects: the repositories that the daemon serves.

use std::sync::Arc;

use ao_api::{ConfirmedChanges, NewProject, Project, Projects, RepositoryTrust};
use ao_core::project::ProjectInput;
use ao_core::{Input, ProjectId, Refusal};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::control::name;
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Call, Given, Part};
use crate::problem::{Failure, Reply};

/// Lists the configured projects; for an agent only its own.
#[utoipa::path(get, path = "/api/projects", tag = "projects", responses((status = 200, body = Projects)))]
pub(super) async fn list(Call { app, caller }: Call) -> Reply<Projects> {
    let mut projects = known(&app).await?;
    if let Caller::Session(agent) = &caller {
        projects.retain(|project| project.id == agent.project.as_str());
    }
    Ok(Json(Projects { projects }))
}

/// Adds the projects of a configuration file.
#[utoipa::path(
    post, path = "/api/projects", tag = "projects", request_body = NewProject,
    responses((status = 200, description = "The projects of that file", body = Projects)),
)]
pub(super) async fn add(State(app): State<Arc<App>>, Given(project): Given<NewProject>) -> Reply<Projects> {
    let added = app
        .to_the_end(async move |app| Ok(app.daemon.add_project(project.config.as_str().into()).await?))
        .await?;
    let projects = known(&app).await?.into_iter().filter(|project| added.contains(&project.id)).collect();
    Ok(Json(Projects { projects }))
}

/// Removes a project. Nothing is deleted from disk.
#[utoipa::path(
    delete, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 204, description = "It is forgotten")),
)]
pub(super) async fn remove(State(app): State<Arc<App>>, Part(id): Part) -> Result<StatusCode, Failure> {
    app.to_the_end(async move |app| Ok(app.daemon.remove_project(&id).await?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stops the work of a project: none of its issues is started without a person's request, also after a restart, until
/// it is started again. Existing sessions are left as they are.
#[utoipa::path(
    post, path = "/api/projects/{id}/stop", tag = "projects",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = Project)),
)]
pub(super) async fn stop(Call { app, caller }: Call, Part(id): Part) -> Reply<Project> {
    let input = ProjectInput::StopWork { by: name(&app, &caller) };
    tell(&app, id, input).await
}

/// Lets issues of a project start automatically again, if its configuration allows it.
#[utoipa::path(
    post, path = "/api/projects/{id}/start", tag = "projects",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = Project)),
)]
pub(super) async fn start(Call { app, caller }: Call, Part(id): Part) -> Reply<Project> {
    let input = ProjectInput::StartWork { by: name(&app, &caller) };
    tell(&app, id, input).await
}

/// Lists the programs that git may run for a project, and the changes of its repository that wait for confirmation.
#[utoipa::path(
    get, path = "/api/projects/{id}/trust", tag = "projects",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = RepositoryTrust)),
)]
pub(super) async fn trusted(State(app): State<Arc<App>>, Part(id): Part) -> Reply<RepositoryTrust> {
    let project = app.daemon.config.project(Some(&id))?;
    let view = app.daemon.looks.scm(&project)?.base(&project).await?;
    let programs = view.programs.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let waiting = view.held.into_iter().map(|held| held.what).collect();
    Ok(Json(RepositoryTrust { project: id, programs, waiting }))
}

/// Confirms the current state of a project's repository: its base branch and its git configuration.
#[utoipa::path(
    post, path = "/api/projects/{id}/trust", tag = "projects",
    params(("id" = String, Path, description = "The name of the project")),
    responses((status = 200, body = ConfirmedChanges)),
)]
pub(super) async fn trust(State(app): State<Arc<App>>, Part(id): Part) -> Reply<ConfirmedChanges> {
    let project = app.daemon.config.project(Some(&id))?;
    let scm = app.daemon.looks.scm(&project)?;
    let confirmed = app.to_the_end(async move |_| Ok(scm.confirm_repository(&project).await?)).await?;
    Ok(Json(ConfirmedChanges { project: id, changes: confirmed.into_iter().map(|it| it.detail).collect() }))
}

async fn tell(app: &App, id: String, input: ProjectInput) -> Reply<Project> {
    let project = ProjectId::new(&id);
    app.handle.ask(Input::Project { project: project.clone(), input }).await?;
    let found = known(app).await?.into_iter().find(|known| known.id == id);
    Ok(Json(found.ok_or(Refusal::UnknownProject(project))?))
}

async fn known(app: &App) -> Result<Vec<Project>, Failure> {
    let projects = app.daemon.config.projects();
    let mut projects: Vec<Project> =
        projects.iter().map(|(id, known)| crate::to_api::daemon::project(id, known)).collect();
    let counted = app.handle.view(move |state| {
        for project in &mut projects {
            let id = ProjectId::new(&project.id);
            project.live_sessions = u32::try_from(state.live_in(&id).count()).unwrap_or(u32::MAX);
            if let Some(known) = state.projects.get(&id) {
                project.auto_assign = known.config.auto_assign.is_some();
                project.stopped_by = known.stopped.as_ref().map(|stopped| stopped.by.clone());
            }
        }
        projects
    });
    Ok(counted.await?)
}
