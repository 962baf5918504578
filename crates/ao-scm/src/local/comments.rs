//! Comments on a pull request: threads at lines, replies, and resolution.

use ao_core::PullId;
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_ports::{CommentPlace, DiffSide, NewComment, ScmError, ThreadReply};

use super::pull_records::PullEntry;
use super::record::{CommentRecord, EditCount, ThreadAnchor, ThreadPosition, ThreadRecord};
use super::{LocalError, LocalScm, validate};

/// The most comments that a pull request can have.
const MOST: u32 = 10_000;

/// The most bytes of all comments on a pull request. They are in memory while it is open.
const LONGEST: usize = 8 * 1024 * 1024;

impl LocalScm {
    pub(super) async fn say(&self, comment: &NewComment) -> Result<String, LocalError> {
        let body = comment_body(&comment.body)?;
        let mut writing = self.pulls.writing().await;
        self.look(&mut writing).await?;
        let mut entry = PullEntry::clone(&*self.entry(&comment.pull).await?);
        if let Some(thread) = thread_with_key(&entry, comment.key.as_deref()) {
            return Ok(thread);
        }
        let thread = match &comment.at {
            CommentPlace::Thread(thread) => find(&entry, &comment.pull, thread)?,
            CommentPlace::Pull => begin(&mut entry, None),
            CommentPlace::Line { path, line, side } => {
                let begun = self.begun(&entry, path, *line, *side).await?;
                self.pin_at(&entry).await?;
                begin(&mut entry, Some(begun))
            }
        };
        self.add(&mut entry, thread, comment.by.clone(), body, comment.key.clone())?;
        self.save(&mut writing, vec![entry]).await?;
        Ok(format!("t{thread}"))
    }

    /// Adds the daemon's own reply.
    pub(super) async fn answer(&self, reply: &ThreadReply) -> Result<(), LocalError> {
        // Without a text, only resolve.
        let body = match reply.resolve && reply.text.is_empty() {
            true => None,
            false => Some(comment_body(&reply.text)?),
        };
        let mut writing = self.pulls.writing().await;
        let mut entry = PullEntry::clone(&*self.entry(&reply.pull).await?);
        let thread = find(&entry, &reply.pull, &reply.thread)?;
        let by = AuthorFacts { login: "ao".to_owned(), standing: AuthorStanding::Agent };
        let before = entry.clone();
        if let (Some(body), None) = (body, thread_with_key(&entry, Some(&reply.key))) {
            self.add(&mut entry, thread, by.clone(), body, Some(reply.key.clone()))?;
        }
        if reply.resolve {
            settle(&mut entry, thread, &by, true);
        }
        match entry == before {
            true => Ok(()),
            false => self.save(&mut writing, vec![entry]).await,
        }
    }

    pub(super) async fn settle_thread(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), LocalError> {
        let mut writing = self.pulls.writing().await;
        let before = self.entry(pull).await?;
        let mut entry = PullEntry::clone(&before);
        let thread = find(&entry, pull, thread)?;
        settle(&mut entry, thread, by, resolved);
        if entry == *before {
            return Ok(());
        }
        entry.pull.updated_at = self.now();
        self.save(&mut writing, vec![entry]).await
    }

    /// Returns the anchor for a thread at a line. Refuses lines that do not exist.
    pub(super) async fn begun(
        &self,
        entry: &PullEntry,
        path: &str,
        line: Option<u32>,
        side: DiffSide,
    ) -> Result<ThreadAnchor, LocalError> {
        let path = validate::path(path)?;
        let commit = match side {
            DiffSide::New => Some(&entry.pull.head),
            DiffSide::Old => entry.pull.fork.as_ref(),
        };
        let commit = commit.ok_or_else(|| {
            ScmError::refused("head and base have no commit in common, so there is no old side")
        })?;
        let context = self.repository.line(commit, path, line).await?;
        Ok(ThreadAnchor { commit: commit.clone(), path: path.to_owned(), line, side, context })
    }

    /// Pins the head that a comment refers to.
    pub(super) async fn pin_at(&self, entry: &PullEntry) -> Result<(), LocalError> {
        let name = format!("{}/at/{}", entry.pull.number, entry.pull.head);
        Ok(self.repository.pin(&[(name, &entry.pull.head)]).await?)
    }

    /// Adds a comment to a thread. A resolved thread stays resolved until it is reopened explicitly.
    pub(super) fn add(
        &self,
        entry: &mut PullEntry,
        thread: u32,
        by: AuthorFacts,
        body: String,
        key: Option<String>,
    ) -> Result<(), ScmError> {
        if entry.pull.comments >= MOST {
            return Err(ScmError::refused(format!(
                "there are {MOST} comments on it already, which is the most"
            )));
        }
        has_room(entry, &body)?;
        entry.pull.comments += 1;
        let (id, edits) = (format!("c{}", entry.pull.comments), EditCount::default());
        let comment = CommentRecord { id, by, body, at: self.now(), key, edits };
        entry.pull.updated_at = comment.at;
        if let Some(thread) = entry.threads.get_mut(&thread) {
            thread.comments.push(comment);
        }
        Ok(())
    }
}

/// Creates an empty thread and returns its number.
pub(super) fn begin(entry: &mut PullEntry, begun: Option<ThreadAnchor>) -> u32 {
    entry.pull.threads += 1;
    let number = entry.pull.threads;
    let now = begun.as_ref().map(|begun| ThreadPosition { path: begun.path.clone(), line: begun.line });
    let thread = ThreadRecord { number, begun, now, resolved: false, resolved_by: None, comments: vec![] };
    entry.threads.insert(number, thread);
    number
}

/// Refuses text beyond the limit of one pull request.
pub(super) fn has_room(entry: &PullEntry, text: &str) -> Result<(), ScmError> {
    let comments = entry.threads.values().flat_map(|thread| &thread.comments);
    let commented: usize = comments.map(|comment| comment.body.len()).sum();
    let reviewed: usize = entry.pull.reviews.iter().map(|review| review.body.len()).sum();
    match commented + reviewed + text.len() > LONGEST {
        true => Err(ScmError::refused(format!(
            "its comments have {} bytes already, and {LONGEST} are the most",
            commented + reviewed
        ))),
        false => Ok(()),
    }
}

/// Returns the body of a comment, which must not be empty.
pub(super) fn comment_body(text: &str) -> Result<String, ScmError> {
    match validate::body(text)? {
        body if body.trim().is_empty() => Err(ScmError::refused("a comment must not be empty")),
        body => Ok(body),
    }
}

fn find(entry: &PullEntry, pull: &PullId, thread: &str) -> Result<u32, ScmError> {
    let number = thread.strip_prefix('t').and_then(|number| number.parse().ok());
    number
        .filter(|number| entry.threads.contains_key(number))
        .ok_or_else(|| ScmError::not_found(format!("the thread `{}` of `{pull}`", thread.escape_debug())))
}

/// Returns the thread that has a comment with this key.
fn thread_with_key(entry: &PullEntry, key: Option<&str>) -> Option<String> {
    let key = key?;
    let has_key =
        |thread: &&ThreadRecord| thread.comments.iter().any(|comment| comment.key.as_deref() == Some(key));
    entry.threads.values().find(has_key).map(ThreadRecord::id)
}

fn settle(entry: &mut PullEntry, thread: u32, by: &AuthorFacts, resolved: bool) {
    if let Some(thread) = entry.threads.get_mut(&thread)
        && thread.resolved != resolved
    {
        thread.resolved = resolved;
        thread.resolved_by = resolved.then(|| by.login.clone());
    }
}
