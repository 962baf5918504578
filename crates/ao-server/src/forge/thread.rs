//! The thread of a pull request that is meant: by its id, or by the id or the address of a comment in it.
//!
//! Agents and people are shown comments (`c3`, `ao://my-app/pulls/7#c3`) and answer what they were shown.

use ao_core::PullId;
use ao_core::pull::PullFacts;
use ao_ports::{CommentPlace, Scm, TrackerError};

use crate::problem::Failure;

/// Finds where an answer goes: into the thread that is meant. A review is no thread, so an answer to one is said on the whole.
pub(crate) async fn answer_place(scm: &dyn Scm, id: &PullId, meant: &str) -> Result<CommentPlace, Failure> {
    let Some(facts) = known(scm, id).await? else { return Ok(CommentPlace::Thread(meant.to_owned())) };
    let is_review = facts.reviews.iter().any(|review| review.id == short(meant));
    Ok(match (thread_in(&facts, meant), is_review) {
        (Some(thread), _) => CommentPlace::Thread(thread),
        (None, true) => CommentPlace::Pull,
        // The forge says that there is none.
        (None, false) => CommentPlace::Thread(meant.to_owned()),
    })
}

/// Finds the thread that is meant; what is unknown is left to the forge to refuse.
pub(crate) async fn thread_meant(scm: &dyn Scm, id: &PullId, meant: &str) -> Result<String, Failure> {
    let facts = known(scm, id).await?;
    Ok(facts.and_then(|facts| thread_in(&facts, meant)).unwrap_or_else(|| meant.to_owned()))
}

/// The pull request, if its forge can be asked for it.
async fn known(scm: &dyn Scm, id: &PullId) -> Result<Option<PullFacts>, Failure> {
    match scm.show(id).await {
        Ok(detail) => Ok(Some(detail.facts)),
        Err(TrackerError::Unsupported { .. }) => Ok(None),
        Err(err) => Err(err.into()),
    }
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

/// An id without the mark or the address in front of it: `#c3`, `ao://my-app/pulls/7#c3`.
fn short(meant: &str) -> &str {
    meant.rsplit_once('#').map_or(meant, |(_, id)| id)
}
