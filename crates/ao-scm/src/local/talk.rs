//! What is said on a pull request: comments, threads at lines, replies, and that something is settled.

use ao_core::PullId;
use ao_core::pull::{Author, Standing};
use ao_ports::{CommentPlace, NewComment, Side, ThreadReply, TrackerError};

use super::book::Entry;
use super::record::{Begun, CommentRecord, Edits, Place, ThreadRecord};
use super::{LocalError, LocalScm, names};

/// How many comments a pull request can have.
const MOST: u32 = 10_000;

/// How much can be said on a pull request in all, in bytes. All of it is kept in memory while it is open.
const LONGEST: usize = 8 * 1024 * 1024;

impl LocalScm {
    pub(super) async fn say(&self, comment: &NewComment) -> Result<String, LocalError> {
        let body = said(&comment.body)?;
        let mut writing = self.book.writing().await;
        self.look(&mut writing).await?;
        let mut entry = Entry::clone(&*self.entry(&comment.pull).await?);
        if let Some(thread) = said_before(&entry, comment.key.as_deref()) {
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

    /// The daemon's own answer.
    pub(super) async fn answer(&self, reply: &ThreadReply) -> Result<(), LocalError> {
        // With nothing to say, it only resolves.
        let body = match reply.resolve && reply.text.is_empty() {
            true => None,
            false => Some(said(&reply.text)?),
        };
        let mut writing = self.book.writing().await;
        let mut entry = Entry::clone(&*self.entry(&reply.pull).await?);
        let thread = find(&entry, &reply.pull, &reply.thread)?;
        let by = Author { login: "ao".to_owned(), standing: Standing::Agent };
        let before = entry.clone();
        if let (Some(body), None) = (body, said_before(&entry, Some(&reply.key))) {
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
        by: &Author,
        resolved: bool,
    ) -> Result<(), LocalError> {
        let mut writing = self.book.writing().await;
        let before = self.entry(pull).await?;
        let mut entry = Entry::clone(&before);
        let thread = find(&entry, pull, thread)?;
        settle(&mut entry, thread, by, resolved);
        if entry == *before {
            return Ok(());
        }
        entry.pull.updated_at = self.now();
        self.save(&mut writing, vec![entry]).await
    }

    /// What a thread at a line is begun on. Refuses lines that are not there.
    pub(super) async fn begun(
        &self,
        entry: &Entry,
        path: &str,
        line: Option<u32>,
        side: Side,
    ) -> Result<Begun, LocalError> {
        let path = names::path(path)?;
        let commit = match side {
            Side::New => Some(&entry.pull.head),
            Side::Old => entry.pull.fork.as_ref(),
        };
        let commit = commit.ok_or_else(|| {
            TrackerError::refused("head and base have no commit in common, so there is no old side")
        })?;
        let context = self.repository.line(commit, path, line).await?;
        Ok(Begun { commit: commit.clone(), path: path.to_owned(), line, side, context })
    }

    /// Keeps the head that something was said on.
    pub(super) async fn pin_at(&self, entry: &Entry) -> Result<(), LocalError> {
        let name = format!("{}/at/{}", entry.pull.number, entry.pull.head);
        Ok(self.repository.pin(&[(name, &entry.pull.head)]).await?)
    }

    /// Adds a comment to a thread. Whatever is said anew, the thread is open again only if somebody says that too.
    pub(super) fn add(
        &self,
        entry: &mut Entry,
        thread: u32,
        by: Author,
        body: String,
        key: Option<String>,
    ) -> Result<(), TrackerError> {
        if entry.pull.comments >= MOST {
            return Err(TrackerError::refused(format!(
                "there are {MOST} comments on it already, which is the most"
            )));
        }
        has_room(entry, &body)?;
        entry.pull.comments += 1;
        let (id, edits) = (format!("c{}", entry.pull.comments), Edits::default());
        let comment = CommentRecord { id, by, body, at: self.now(), key, edits };
        entry.pull.updated_at = comment.at;
        if let Some(thread) = entry.threads.get_mut(&thread) {
            thread.comments.push(comment);
        }
        Ok(())
    }
}

/// Makes an empty thread.
pub(super) fn begin(entry: &mut Entry, begun: Option<Begun>) -> u32 {
    entry.pull.threads += 1;
    let number = entry.pull.threads;
    let now = begun.as_ref().map(|begun| Place { path: begun.path.clone(), line: begun.line });
    let thread = ThreadRecord { number, begun, now, resolved: false, resolved_by: None, comments: vec![] };
    entry.threads.insert(number, thread);
    number
}

/// Refuses what is too much for one pull request.
pub(super) fn has_room(entry: &Entry, text: &str) -> Result<(), TrackerError> {
    let comments = entry.threads.values().flat_map(|thread| &thread.comments);
    let said: usize = comments.map(|comment| comment.body.len()).sum();
    let reviewed: usize = entry.pull.reviews.iter().map(|review| review.body.len()).sum();
    match said + reviewed + text.len() > LONGEST {
        true => Err(TrackerError::refused(format!(
            "there are {} bytes said on it already, and {LONGEST} are the most",
            said + reviewed
        ))),
        false => Ok(()),
    }
}

/// A text that says something.
pub(super) fn said(text: &str) -> Result<String, TrackerError> {
    match names::body(text)? {
        body if body.trim().is_empty() => Err(TrackerError::refused("an empty comment says nothing")),
        body => Ok(body),
    }
}

fn find(entry: &Entry, pull: &PullId, thread: &str) -> Result<u32, TrackerError> {
    let number = thread.strip_prefix('t').and_then(|number| number.parse().ok());
    number
        .filter(|number| entry.threads.contains_key(number))
        .ok_or_else(|| TrackerError::not_found(format!("the thread `{}` of `{pull}`", thread.escape_debug())))
}

/// The thread in which something was said under this mark.
fn said_before(entry: &Entry, key: Option<&str>) -> Option<String> {
    let key = key?;
    let said =
        |thread: &&ThreadRecord| thread.comments.iter().any(|comment| comment.key.as_deref() == Some(key));
    entry.threads.values().find(said).map(ThreadRecord::id)
}

fn settle(entry: &mut Entry, thread: u32, by: &Author, resolved: bool) {
    if let Some(thread) = entry.threads.get_mut(&thread)
        && thread.resolved != resolved
    {
        thread.resolved = resolved;
        thread.resolved_by = resolved.then(|| by.login.clone());
    }
}
