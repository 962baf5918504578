//! Merge queues.

use ao_api::{MergeQueue, MergeQueues, NewQueueEntry, Problem, QueuePause, QueuePriority};
use ao_core::queue::QueueInput;
use ao_core::{Input, ProjectId, PullId, Refusal};
use ao_engine::AskError;
use axum::Json;

use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Asked, Call, Given, PullCall, PullName, Within};
use crate::forge::{allow, can_merge, invalid, projects, pull_meant, see};
use crate::problem::{Failure, Reply};
use crate::to_api;

/// Lists the entries of merge queues in the order of landing, one project after the other.
#[utoipa::path(get, path = "/api/queue", tag = "queue", params(Within), responses((status = 200, body = MergeQueues)))]
pub(super) async fn list(Call { app, caller }: Call, Asked(within): Asked<Within>) -> Reply<MergeQueues> {
    let asked = projects(&app, &caller, within.project.as_deref())?;
    let look =
        move |state: &ao_core::State| asked.iter().filter_map(|id| to_api::merge_queue(state, id)).collect();
    Ok(Json(MergeQueues { queues: app.handle.view(look).await? }))
}

/// Queues a pull request. It lands once it is green on top of the entries before it, if its policy holds then.
#[utoipa::path(
    post, path = "/api/queue", tag = "queue", request_body = NewQueueEntry,
    responses(
        (status = 200, body = MergeQueue),
        (status = 409, description = "It may not be merged: the title says why", body = Problem),
    ),
)]
pub(super) async fn add(
    Call { app, caller }: Call,
    Given(request): Given<NewQueueEntry>,
) -> Reply<MergeQueue> {
    allow(&caller, AgentAct::Decide)?;
    let id = pull_meant(&app, &caller, &request.pull, request.project.as_deref()).await?;
    let scm = app.daemon.looks.scm(&id.project)?;
    can_merge(&*scm, true)?;
    let facts = see(&app, &id).await?;
    if let Some(meant) = request.head.as_ref().filter(|meant| **meant != *facts.head.as_str()) {
        let title = format!("the head of {id} is {}, not {meant}; nothing is queued", facts.head);
        return Err(Problem::new(409, "stale", title)
            .hint(format!("`ao pr show {id}` shows the new head"))
            .into());
    }
    let input = QueueInput::Enqueue { pull: id.clone(), head: facts.head, priority: request.priority };
    ask(&app, &id.project, Some(&id), input).await
}

/// Sets the priority of a queue entry.
#[utoipa::path(
    patch, path = "/api/queue/{id}", tag = "queue", request_body = QueuePriority,
    params(PullName, Within),
    responses((status = 200, body = MergeQueue)),
)]
pub(super) async fn prioritize(
    PullCall { app, caller, id }: PullCall,
    Given(QueuePriority { priority }): Given<QueuePriority>,
) -> Reply<MergeQueue> {
    allow(&caller, AgentAct::Decide)?;
    ask(&app, &id.project, Some(&id), QueueInput::Prioritize { pull: id.clone(), priority }).await
}

/// Removes an entry from the queue. Entries that were tested with it are tested again.
#[utoipa::path(
    delete, path = "/api/queue/{id}", tag = "queue",
    params(PullName, Within),
    responses((status = 200, body = MergeQueue)),
)]
pub(super) async fn remove(PullCall { app, caller, id }: PullCall) -> Reply<MergeQueue> {
    allow(&caller, AgentAct::Decide)?;
    let why = format!("{} took it out", app.owner);
    ask(&app, &id.project, Some(&id), QueueInput::Remove { pull: id.clone(), why }).await
}

/// Pauses a project's queue. Tests and merges that are under way are finished.
#[utoipa::path(
    post, path = "/api/queue/pause", tag = "queue", request_body = QueuePause,
    responses((status = 200, body = MergeQueue)),
)]
pub(super) async fn pause(Call { app, caller }: Call, Given(order): Given<QueuePause>) -> Reply<MergeQueue> {
    allow(&caller, AgentAct::Decide)?;
    let project = named(&app, &caller, &order)?;
    let why = order.why.filter(|why| !why.trim().is_empty());
    let why = ao_core::outside::one_line(&why.unwrap_or_else(|| format!("{} paused it", app.owner)));
    ask(&app, &project, None, QueueInput::Pause { why }).await
}

/// Resumes a project's queue.
#[utoipa::path(
    post, path = "/api/queue/resume", tag = "queue", request_body = QueuePause,
    responses((status = 200, body = MergeQueue)),
)]
pub(super) async fn resume(Call { app, caller }: Call, Given(order): Given<QueuePause>) -> Reply<MergeQueue> {
    allow(&caller, AgentAct::Decide)?;
    let project = named(&app, &caller, &order)?;
    ask(&app, &project, None, QueueInput::Resume {}).await
}

fn named(app: &App, caller: &Caller, order: &QueuePause) -> Result<ProjectId, Failure> {
    let asked = projects(app, caller, Some(&order.project))?;
    asked.into_iter().next().ok_or_else(|| invalid("name a project"))
}

/// Sends an input. If it is refused, the problem names the pull request that it is about.
async fn ask(app: &App, project: &ProjectId, about: Option<&PullId>, input: QueueInput) -> Reply<MergeQueue> {
    let asked = app.handle.ask(Input::Queue { project: project.clone(), input }).await;
    if let (Err(AskError::Refused(refusal @ Refusal::Invalid { .. })), Some(id)) = (&asked, about) {
        let hint = format!("`ao policy explain {id}` lists what is missing, `ao queue` what is queued");
        return Err(Problem::new(409, "not-queued", refusal.to_string()).hint(hint).into());
    }
    asked?;
    let meant = project.clone();
    let told = app.handle.view(move |state| to_api::merge_queue(state, &meant)).await?;
    Ok(Json(told.ok_or_else(|| AskError::Refused(Refusal::UnknownProject(project.clone())))?))
}
