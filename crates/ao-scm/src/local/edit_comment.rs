//! Edits of comments and of the texts of reviews. The verdict of a review cannot be edited.

use ao_core::PullId;
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_ports::ScmError;

use super::pull_records::PullEntry;
use super::record::EditCount;
use super::{LocalError, LocalScm, comments};

impl LocalScm {
    /// Edits a comment or review. The same text again changes nothing, so that one edit causes one update.
    pub(super) async fn reword(
        &self,
        pull: &PullId,
        id: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), LocalError> {
        let body = comments::comment_body(body)?;
        let mut writing = self.pulls.writing().await;
        let mut entry = PullEntry::clone(&*self.entry(pull).await?);
        let found = find(&mut entry, id)
            .ok_or_else(|| ScmError::not_found(format!("the comment `{}` of `{pull}`", id.escape_debug())))?;
        may_edit(by, found.by, id)?;
        if *found.body == body {
            return Ok(());
        }
        let now = self.now();
        *found.body = body;
        *found.edits = EditCount { count: found.edits.count.saturating_add(1), last: Some(now) };
        entry.pull.updated_at = now;
        self.save(&mut writing, vec![entry]).await
    }
}

/// An editable text, of a comment or a review.
struct EditableText<'a> {
    by: &'a AuthorFacts,
    body: &'a mut String,
    edits: &'a mut EditCount,
}

/// Returns the comment or the review with this id. Their ids never look alike.
fn find<'a>(entry: &'a mut PullEntry, id: &str) -> Option<EditableText<'a>> {
    let reviews = entry.pull.reviews.iter_mut().filter(|review| review.id == id);
    let mut reviews = reviews.map(|review| EditableText {
        by: &review.by,
        body: &mut review.body,
        edits: &mut review.edits,
    });
    if let Some(review) = reviews.next() {
        return Some(review);
    }
    let comments = entry.threads.values_mut().flat_map(|thread| thread.comments.iter_mut());
    let comment = comments.into_iter().find(|comment| comment.id == id)?;
    Some(EditableText { by: &comment.by, body: &mut comment.body, edits: &mut comment.edits })
}

/// Compares the standing too: an agent could have the name of a person.
fn may_edit(by: &AuthorFacts, whose: &AuthorFacts, id: &str) -> Result<(), ScmError> {
    let same = whose.is(&by.login) && whose.standing == by.standing;
    if same || by.standing == AuthorStanding::Owner {
        return Ok(());
    }
    Err(ScmError::refused(format!(
        "`{id}` was written by {} ({}); only its author and the owner can edit it",
        whose.login, whose.standing
    )))
}
