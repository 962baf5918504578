//! Issues: lists, details and changes.

use ao_api::client::IssueQuery;
use ao_api::{
    ImportOrder, ImportSource, Imported, Issue, IssueEdit, IssueStateFilter, Issues, NewIssue,
    NewIssueComment, OpenState,
};
use ao_core::{ProjectId, TaskId};
use ao_daemon::looks::{ImportFormat, Outcome, TaskReceiver};
use ao_ports::{NewTask, TaskEdit, TaskFilter, TaskSeen};
use axum::Json;
use axum::http::StatusCode;

use super::pulls::labels;
use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Asked, Call, Given, IssueCall, IssueName, Within};
use crate::forge::{allow, among, author, issue_key, not_empty, project, projects};
use crate::problem::{CodedReply, Failure, Reply};
use crate::to_api::{self, same_name};

const LISTED: usize = 100;
const LISTED_MOST: usize = 10_000;

/// Lists issues, the most recently changed first.
#[utoipa::path(get, path = "/api/issues", tag = "issues", params(IssueQuery), responses((status = 200, body = Issues)))]
pub(super) async fn list(Call { app, caller }: Call, Asked(which): Asked<IssueQuery>) -> Reply<Issues> {
    let closed = match which.state.unwrap_or(IssueStateFilter::Open) {
        IssueStateFilter::Open => Some(false),
        IssueStateFilter::Closed => Some(true),
        IssueStateFilter::All => None,
    };
    let within = projects(&app, &caller, which.project.as_deref())?;
    let limit = which.limit.unwrap_or(LISTED).clamp(1, LISTED_MOST);
    let filter = TaskFilter {
        closed,
        labels: labels(which.label.as_deref()),
        assignee: which.assignee,
        text: which.text,
        limit,
    };
    let mut all: Vec<TaskSeen> = Vec::new();
    let mut warnings: Vec<String> = Vec::new();
    for project in &within {
        let seen = async {
            let tracker = app.daemon.looks.tracker(project)?;
            Ok((tracker.list(project, &filter).await?, tracker.warnings().await?))
        };
        let Some((seen, odd)) = among(&within, seen.await)? else { continue };
        all.extend(seen);
        warnings.extend(odd);
    }
    all.sort_by_key(|seen| std::cmp::Reverse(seen.updated));
    all.truncate(limit);
    let told = app.handle.view(move |state| all.iter().map(|seen| to_api::issue(state, seen)).collect());
    Ok(Json(Issues { issues: told.await?, warnings }))
}

/// Creates an issue.
#[utoipa::path(
    post, path = "/api/issues", tag = "issues", request_body = NewIssue,
    responses((status = 201, description = "The issue; with a `key` that was used before, the one it was used for", body = Issue)),
)]
pub(super) async fn add(Call { app, caller }: Call, Given(new): Given<NewIssue>) -> CodedReply<Issue> {
    let project = project(&app, &caller, new.project_id.as_deref())?;
    allow(&caller, AgentAct::EditIssue(&project))?;
    not_empty(&new.title, "an issue has a title")?;
    may_label(&app, &caller, &project, &new.labels).await?;
    let order = NewTask {
        title: new.title,
        body: new.body,
        labels: new.labels.into_iter().collect(),
        priority: new.priority,
        blocked_by: keys(&project, &new.blocked_by)?,
        assignee: new.assignee.filter(|assignee| !assignee.is_empty()),
        by: author(&app, &caller),
        key: new.key,
        closed: new.closed,
        project,
    };
    let tracker = app.daemon.looks.tracker(&order.project)?;
    app.to_the_end(async move |app| {
        let id = tracker.create(&order).await?;
        let seen = app.daemon.looks.task(&id, TaskReceiver::EngineIfKnown).await?;
        Ok((StatusCode::CREATED, Json(told(&app, seen).await?)))
    })
    .await
}

/// Returns one issue, with its comments.
#[utoipa::path(
    get, path = "/api/issues/{id}", tag = "issues",
    params(IssueName, Within),
    responses((status = 200, body = Issue)),
)]
pub(super) async fn show(IssueCall { app, id, .. }: IssueCall) -> Reply<Issue> {
    let seen = app.daemon.looks.tracker(&id.project)?.task(&id).await?;
    Ok(Json(told(&app, seen).await?))
}

/// Changes an issue, closes it or opens it again.
#[utoipa::path(
    patch, path = "/api/issues/{id}", tag = "issues", request_body = IssueEdit,
    params(IssueName, Within),
    responses((status = 200, body = Issue)),
)]
pub(super) async fn edit(
    IssueCall { app, caller, id }: IssueCall,
    Given(edit): Given<IssueEdit>,
) -> Reply<Issue> {
    allow(&caller, AgentAct::EditIssue(&id.project))?;
    if let Some(title) = &edit.title {
        not_empty(title, "an issue has a title")?;
    }
    may_label(&app, &caller, &id.project, &edit.add_labels).await?;
    let order = TaskEdit {
        title: edit.title,
        body: edit.body,
        add_labels: edit.add_labels.into_iter().collect(),
        remove_labels: edit.remove_labels.into_iter().collect(),
        priority: edit.priority,
        add_blocked_by: keys(&id.project, &edit.add_blocked_by)?,
        remove_blocked_by: keys(&id.project, &edit.remove_blocked_by)?,
        assignee: edit.assignee.map(|assignee| Some(assignee).filter(|assignee| !assignee.is_empty())),
        closed: edit.state.map(|state| state == OpenState::Closed),
    };
    let tracker = app.daemon.looks.tracker(&id.project)?;
    app.to_the_end(async move |app| {
        tracker.edit(&id, &order).await?;
        let seen = app.daemon.looks.task(&id, TaskReceiver::EngineIfKnown).await?;
        Ok(Json(told(&app, seen).await?))
    })
    .await
}

/// Comments on an issue.
#[utoipa::path(
    post, path = "/api/issues/{id}/comments", tag = "issues", request_body = NewIssueComment,
    params(IssueName, Within),
    responses((status = 201, description = "The issue with its comments", body = Issue)),
)]
pub(super) async fn comment(
    IssueCall { app, caller, id }: IssueCall,
    Given(new): Given<NewIssueComment>,
) -> CodedReply<Issue> {
    allow(&caller, AgentAct::CommentIssue(&id))?;
    not_empty(&new.body, "a comment says something")?;
    let by = author(&app, &caller);
    let key = new.key.unwrap_or_else(|| format!("said-{:x}", app.clock.fresh()));
    let tracker = app.daemon.looks.tracker(&id.project)?;
    app.to_the_end(async move |app| {
        tracker.comment(&id, &by, &key, &new.body).await?;
        let seen = app.daemon.looks.task(&id, TaskReceiver::EngineIfKnown).await?;
        Ok((StatusCode::CREATED, Json(told(&app, seen).await?)))
    })
    .await
}

/// Imports issues from a text. Importing the same text again creates none of them twice.
#[utoipa::path(
    post, path = "/api/issues/import", tag = "issues", request_body = ImportOrder,
    responses((status = 200, body = Imported)),
)]
pub(super) async fn import(Call { app, caller }: Call, Given(order): Given<ImportOrder>) -> Reply<Imported> {
    allow(&caller, AgentAct::Decide)?;
    let project = project(&app, &caller, order.project_id.as_deref())?;
    let by = author(&app, &caller);
    let format = same_name!(order.format, ImportSource => ImportFormat: Markdown, GitHub);
    app.to_the_end(async move |app| {
        let looks = &app.daemon.looks;
        let imported = looks.import(&project, &by, (format, &order.text), order.dry_run).await?;
        if !order.dry_run {
            for id in imported
                .iter()
                .filter(|made| made.outcome == Outcome::Made)
                .filter_map(|made| made.task.as_ref())
            {
                looks.task(id, TaskReceiver::EngineIfKnown).await?;
            }
        }
        Ok(Json(to_api::daemon::imported(imported)))
    })
    .await
}

/// Checks labels: an agent may not add the label by which a person approves an issue of another author.
async fn may_label(
    app: &App,
    caller: &Caller,
    project: &ProjectId,
    labels: &[String],
) -> Result<(), Failure> {
    if labels.is_empty() || caller.may(AgentAct::Decide) {
        return Ok(());
    }
    let (project, labels) = (project.clone(), labels.iter().cloned().collect());
    let approves = app.handle.view(move |state| {
        let auto = state.projects.get(&project).and_then(|project| project.config.auto_assign.as_ref());
        auto.is_some_and(|auto| auto.approves(&labels))
    });
    if approves.await? { allow(caller, AgentAct::Decide) } else { Ok(()) }
}

fn keys<T: FromIterator<TaskId>>(project: &ProjectId, meant: &[String]) -> Result<T, Failure> {
    meant.iter().map(|meant| issue_key(project, meant)).collect()
}

async fn told(app: &App, seen: TaskSeen) -> Result<Issue, Failure> {
    Ok(app.handle.view(move |state| to_api::issue(state, &seen)).await?)
}
