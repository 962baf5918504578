//! What was said is said otherwise: comments, and the words of reviews. A verdict stays as it was given.

use ao_core::PullId;
use ao_core::pull::{Author, Standing};
use ao_ports::TrackerError;

use super::book::Entry;
use super::record::Edits;
use super::{LocalError, LocalScm, talk};

impl LocalScm {
    /// Called again with the same words, it changes nothing, so that nobody hears of one edit twice.
    pub(super) async fn reword(
        &self,
        pull: &PullId,
        id: &str,
        by: &Author,
        body: &str,
    ) -> Result<(), LocalError> {
        let body = talk::said(body)?;
        let mut writing = self.book.writing().await;
        let mut entry = Entry::clone(&*self.entry(pull).await?);
        let said = find(&mut entry, id).ok_or_else(|| {
            TrackerError::not_found(format!("the comment `{}` of `{pull}`", id.escape_debug()))
        })?;
        may_edit(by, said.by, id)?;
        if *said.body == body {
            return Ok(());
        }
        let now = self.now();
        *said.body = body;
        *said.edits = Edits { count: said.edits.count.saturating_add(1), last: Some(now) };
        entry.pull.updated_at = now;
        self.save(&mut writing, vec![entry]).await
    }
}

/// Something that was said, wherever it is kept.
struct Said<'a> {
    by: &'a Author,
    body: &'a mut String,
    edits: &'a mut Edits,
}

/// The comment or the review with this id. The ids of the one never look like those of the other.
fn find<'a>(entry: &'a mut Entry, id: &str) -> Option<Said<'a>> {
    let reviews = entry.pull.reviews.iter_mut().filter(|review| review.id == id);
    let mut reviews =
        reviews.map(|review| Said { by: &review.by, body: &mut review.body, edits: &mut review.edits });
    if let Some(review) = reviews.next() {
        return Some(review);
    }
    let comments = entry.threads.values_mut().flat_map(|thread| thread.comments.iter_mut());
    let comment = comments.into_iter().find(|comment| comment.id == id)?;
    Some(Said { by: &comment.by, body: &mut comment.body, edits: &mut comment.edits })
}

/// A name alone is not enough: an agent could have the name of a person.
fn may_edit(by: &Author, whose: &Author, id: &str) -> Result<(), TrackerError> {
    let same = whose.is(&by.login) && whose.standing == by.standing;
    if same || by.standing == Standing::Owner {
        return Ok(());
    }
    Err(TrackerError::refused(format!(
        "`{id}` was said by {} ({}); nobody else can edit it but the owner",
        whose.login, whose.standing
    )))
}
