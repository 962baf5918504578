//! Resolves a thread of a pull request: by its id, or by the id or the URL of a comment in it.
//!
//! Agents and people see comments (`c3`, `ao://my-app/pulls/7#c3`) and reply to those.

use ao_core::PullId;
use ao_core::pull::PullFacts;
use ao_ports::{CommentPlace, Scm};

use crate::problem::Failure;

/// Finds the thread that a reply belongs to. A review is not a thread, so a reply to one becomes a comment on the
/// whole.
pub(crate) async fn answer_place(scm: &dyn Scm, id: &PullId, meant: &str) -> Result<CommentPlace, Failure> {
    let Some(facts) = known(scm, id).await? else { return Ok(CommentPlace::Thread(meant.to_owned())) };
    let is_review = facts.reviews.iter().any(|review| review.id == short(meant));
    Ok(match (thread_in(&facts, meant), is_review) {
        (Some(thread), _) => CommentPlace::Thread(thread),
        (None, true) => CommentPlace::Pull,
        // The forge reports that there is none.
        (None, false) => CommentPlace::Thread(meant.to_owned()),
    })
}

/// Finds a thread; an unknown id is left to the forge to refuse.
pub(crate) async fn thread_meant(scm: &dyn Scm, id: &PullId, meant: &str) -> Result<String, Failure> {
    let facts = known(scm, id).await?;
    Ok(facts.and_then(|facts| thread_in(&facts, meant)).unwrap_or_else(|| meant.to_owned()))
}

/// Returns the pull request, if its forge supports reading it.
async fn known(scm: &dyn Scm, id: &PullId) -> Result<Option<PullFacts>, Failure> {
    let Some(reviews) = scm.reviews() else { return Ok(None) };
    Ok(Some(reviews.show(id).await?.facts))
}

fn thread_in(facts: &PullFacts, meant: &str) -> Option<String> {
    let by_id = facts.threads.iter().find(|thread| thread.id == meant);
    let by_comment = || {
        let is_meant = |comment: &ao_core::pull::CommentFacts| {
            comment.id == short(meant) || (!comment.url.is_empty() && comment.url == meant)
        };
        facts.threads.iter().find(|thread| thread.comments.iter().any(is_meant))
    };
    by_id.or_else(by_comment).map(|thread| thread.id.clone())
}

/// Strips the mark or the URL before an id: `#c3`, `ao://my-app/pulls/7#c3`.
fn short(meant: &str) -> &str {
    meant.rsplit_once('#').map_or(meant, |(_, id)| id)
}
