//! Comments and reviews of pull requests, and reviewers.

use ao_api::{
    CommentEdit, Commented, NewComment, NewReview, NewReviewComment, NewReviewer, PullDetail, Resolve,
    ReviewChoice, Reviewed, Spawned, ThreadSide,
};
use ao_core::Commit;
use ao_core::pull::{PullState, ReviewVerdict};
use ao_ports::{CommentPlace, DiffSide, ReviewComment};
use axum::Json;
use axum::http::StatusCode;

use super::pulls::{is_over, told};
use super::sessions::{begin, look};
use crate::auth::AgentAct;
use crate::extract::{Given, Part, Perhaps, PullCall, PullName, Within};
use crate::forge::{allow, answer_place, author, invalid, not_empty, owner, see, thread_meant};
use crate::problem::{CodedReply, Failure, Reply};
use crate::to_api::same_name;

/// Comments on a pull request: in a thread, on a line of a file, on a file, or on the whole.
#[utoipa::path(
    post, path = "/api/pulls/{id}/comments", tag = "pulls", request_body = NewComment,
    params(PullName, Within),
    responses((status = 201, body = Commented)),
)]
pub(super) async fn comment(
    PullCall { app, caller, id }: PullCall,
    Given(new): Given<NewComment>,
) -> CodedReply<Commented> {
    allow(&caller, AgentAct::Discuss(&id.project, owner(&app, &id).await?))?;
    not_empty(&new.body, "a comment says something")?;
    let side = side(new.side);
    let scm = app.daemon.looks.scm(&id.project)?;
    let at = match (new.thread, new.path, new.line) {
        (Some(_), Some(_), _) | (Some(_), None, Some(_)) => {
            return Err(invalid("a thread has its place already: name a thread, or a path and a line"));
        }
        (Some(thread), None, None) => answer_place(&*scm, &id, &thread).await?,
        (None, Some(path), line) => CommentPlace::Line { path, line, side },
        (None, None, Some(_)) => return Err(invalid("a line is of a file: name its path")),
        (None, None, None) => CommentPlace::Pull,
    };
    let by = author(&app, &caller);
    let order = ao_ports::NewComment { pull: id.clone(), by, body: new.body, at, key: new.key };
    app.to_the_end(async move |app| {
        let thread = scm.need_reviews()?.comment(&order).await?;
        see(&app, &id).await?;
        Ok((StatusCode::CREATED, Json(Commented { thread })))
    })
    .await
}

/// Replaces the text of a comment or a review. Only its author and the owner may.
#[utoipa::path(
    patch, path = "/api/pulls/{id}/comments/{comment}", tag = "pulls", request_body = CommentEdit,
    params(
        PullName,
        ("comment" = String, Path, description = "The id of the comment, or of the review"),
        Within,
    ),
    responses((status = 200, body = PullDetail)),
)]
pub(super) async fn edit_comment(
    PullCall { app, caller, id }: PullCall,
    Part((_id, comment)): Part<(String, String)>,
    Given(edit): Given<CommentEdit>,
) -> Reply<PullDetail> {
    allow(&caller, AgentAct::Discuss(&id.project, owner(&app, &id).await?))?;
    not_empty(&edit.body, "a comment says something")?;
    let by = author(&app, &caller);
    let scm = app.daemon.looks.scm(&id.project)?;
    app.to_the_end(async move |app| {
        scm.need_reviews()?.edit_comment(&id, &comment, &by, &edit.body).await?;
        see(&app, &id).await?;
        Ok(Json(told(&app, &*scm, &id).await?))
    })
    .await
}

/// Submits a review. Its comments become threads. Only a person can approve.
#[utoipa::path(
    post, path = "/api/pulls/{id}/reviews", tag = "pulls", request_body = NewReview,
    params(PullName, Within),
    responses((status = 201, body = Reviewed)),
)]
pub(super) async fn review(
    PullCall { app, caller, id }: PullCall,
    Given(new): Given<NewReview>,
) -> CodedReply<Reviewed> {
    allow(&caller, AgentAct::Review(&id))?;
    let verdict = match new.verdict {
        ReviewChoice::Approve => ReviewVerdict::Approved,
        ReviewChoice::RequestChanges => ReviewVerdict::ChangesRequested,
        ReviewChoice::Comment => ReviewVerdict::Commented,
    };
    if verdict == ReviewVerdict::Approved {
        allow(&caller, AgentAct::Decide)?;
    }
    let says_nothing = new.body.trim().is_empty() && new.comments.is_empty();
    if verdict != ReviewVerdict::Approved && says_nothing {
        return Err(invalid("a review that does not approve says why, in its body or its comments"));
    }
    let order = ao_ports::NewReview {
        pull: id.clone(),
        by: author(&app, &caller),
        verdict,
        body: new.body,
        head: new.head.as_deref().map(Commit::new),
        comments: new.comments.into_iter().map(review_comment).collect::<Result<_, _>>()?,
        key: new.key,
    };
    let scm = app.daemon.looks.scm(&id.project)?;
    app.to_the_end(async move |app| {
        let given = scm.need_reviews()?.review(&order).await?;
        see(&app, &id).await?;
        Ok((StatusCode::CREATED, Json(Reviewed { id: given })))
    })
    .await
}

fn review_comment(comment: NewReviewComment) -> Result<ReviewComment, Failure> {
    let NewReviewComment { path, line, side: given, body } = comment;
    if path.is_empty() || body.trim().is_empty() {
        return Err(invalid("a comment of a review has a path and says something"));
    }
    Ok(ReviewComment { path, line, side: side(given), body })
}

fn side(given: Option<ThreadSide>) -> DiffSide {
    same_name!(given.unwrap_or(ThreadSide::New), ThreadSide => DiffSide: Old, New)
}

/// Resolves a review thread, or opens it again.
#[utoipa::path(
    post, path = "/api/pulls/{id}/threads/{thread}/resolve", tag = "pulls", request_body = Resolve,
    params(
        PullName,
        ("thread" = String, Path, description = "The thread's id, or that of a comment in it"),
        Within,
    ),
    responses((status = 200, body = PullDetail)),
)]
pub(super) async fn resolve(
    PullCall { app, caller, id }: PullCall,
    Part((_id, thread)): Part<(String, String)>,
    Perhaps(request): Perhaps<Resolve>,
) -> Reply<PullDetail> {
    allow(&caller, AgentAct::Tend(&id.project, owner(&app, &id).await?))?;
    let by = author(&app, &caller);
    let scm = app.daemon.looks.scm(&id.project)?;
    app.to_the_end(async move |app| {
        let thread = thread_meant(&*scm, &id, &thread).await?;
        scm.need_reviews()?.resolve(&id, &thread, &by, request.resolved).await?;
        see(&app, &id).await?;
        Ok(Json(told(&app, &*scm, &id).await?))
    })
    .await
}

/// Starts a session that reviews a pull request at its current head, or returns the one that does so already.
#[utoipa::path(
    post, path = "/api/pulls/{id}/reviewer", tag = "pulls", request_body = NewReviewer,
    params(PullName, Within),
    responses(
        (status = 201, description = "A new session", body = Spawned),
        (status = 200, description = "The one that reads this head already", body = Spawned),
    ),
)]
pub(super) async fn reviewer(
    PullCall { app, caller, id }: PullCall,
    Perhaps(request): Perhaps<NewReviewer>,
) -> CodedReply<Spawned> {
    allow(&caller, AgentAct::Decide)?;
    let detail = app.daemon.looks.scm(&id.project)?.need_reviews()?.show(&id).await?;
    if detail.facts.state != PullState::Open {
        return Err(is_over(&id).into());
    }
    let order = app.daemon.spawn.reviewer(&detail, request.agent, request.prompt.as_deref()).await?;
    let (project, branch) = (order.project.clone(), order.branch.clone());
    let reads = app.handle.view(move |state| {
        let mut live = state.live_in(&project);
        live.find(|session| branch.as_ref() == Some(&session.spec.branch)).map(|session| session.id)
    });
    if let Some(reads) = reads.await? {
        let session = look(&app, reads).await?;
        return Ok((StatusCode::OK, Json(Spawned { session, created: false })));
    }
    begin(&app, order).await
}
