//! Reviews: a verdict on one head, and comments that become threads.

use ao_core::pull::{AuthorStanding, ReviewVerdict};
use ao_ports::{NewReview, ScmError};

use super::pull_records::PullEntry;
use super::record::{EditCount, PullRecord, ReviewRecord};
use super::{LocalError, LocalScm, comments, validate};

/// The most reviews that a pull request can have.
const REVIEWS: usize = 500;

/// The most comments that one review can have.
const MOST: usize = 200;

impl LocalScm {
    pub(super) async fn give_review(&self, review: &NewReview) -> Result<String, LocalError> {
        let body = validate::body(&review.body)?;
        let mut writing = self.pulls.writing().await;
        self.look(&mut writing).await?;
        let mut entry = PullEntry::clone(&*self.entry(&review.pull).await?);
        let given = entry.pull.reviews.iter().find(|given| given.key.is_some() && given.key == review.key);
        if let Some(given) = given {
            return Ok(given.id.clone());
        }
        may_be_given(review, &entry.pull)?;
        comments::has_room(&entry, &body)?;
        // Validate all of them before anything is saved.
        let mut threads = vec![];
        for comment in &review.comments {
            let begun = self.begun(&entry, &comment.path, comment.line, comment.side).await?;
            threads.push((begun, comments::comment_body(&comment.body)?));
        }
        self.pin_at(&entry).await?;
        for (begun, body) in threads {
            let thread = comments::begin(&mut entry, Some(begun));
            self.add(&mut entry, thread, review.by.clone(), body, None)?;
        }
        let id = format!("r{}", entry.pull.reviews.len() + 1);
        let at = self.now();
        entry.pull.updated_at = at;
        let (by, verdict, commit) = (review.by.clone(), review.verdict, entry.pull.head.clone());
        let (base_branch, fork) = (Some(entry.pull.base_branch.clone()), entry.pull.fork.clone());
        let (key, edits) = (review.key.clone(), EditCount::default());
        let given =
            ReviewRecord { id: id.clone(), by, verdict, commit, base_branch, fork, body, at, key, edits };
        entry.pull.reviews.push(given);
        self.save(&mut writing, vec![entry]).await?;
        Ok(id)
    }
}

fn may_be_given(review: &NewReview, pull: &PullRecord) -> Result<(), ScmError> {
    let refused = |why: String| Err(ScmError::refused(why));
    let id = &review.pull;
    if !pull.is_open() {
        return refused(format!("`{id}` is not open, so there is nothing to review"));
    }
    if let Some(head) = review.head.as_ref().filter(|head| **head != pull.head) {
        return refused(format!("`{id}` is at {} now and not at {head}; read it again", pull.head));
    }
    if review.verdict == ReviewVerdict::Approved {
        if review.by.standing == AuthorStanding::Agent {
            return refused(format!("an agent cannot approve `{id}`; a person has to"));
        }
        if pull.author.is(&review.by.login) {
            return refused(format!(
                "`{}` opened `{id}` and cannot approve it; a merge needs no approval of its author",
                review.by.login
            ));
        }
    }
    if pull.reviews.len() >= REVIEWS {
        return refused(format!("there are {REVIEWS} reviews of `{id}` already, which is the most"));
    }
    let silent = review.body.trim().is_empty() && review.comments.is_empty();
    if review.verdict != ReviewVerdict::Approved && silent {
        return refused("a review without an approval needs a text or remarks".to_owned());
    }
    if review.comments.len() > MOST {
        return refused(format!(
            "{} remarks are too many for one review; {MOST} are the most",
            review.comments.len()
        ));
    }
    Ok(())
}
