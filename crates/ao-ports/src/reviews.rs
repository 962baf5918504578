//! Reviews: the part of a forge in which people and agents read, discuss and review pull requests.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::order::ThreadReply;
use ao_core::pull::{AuthorFacts, PullFacts, PullState, ReviewVerdict};
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::check::CheckRun;
use crate::scm::ScmError;

/// A filter of pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullFilter {
    pub state: PullFilterState,
    pub head_branch: Option<String>,
    pub base_branch: Option<String>,
    pub author: Option<String>,
    pub labels: BTreeSet<String>,
    /// The number of results, the newest.
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullFilterState {
    #[default]
    Open,
    Merged,
    Closed,
    All,
}

/// A pull request in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRow {
    pub pull: PullId,
    pub title: String,
    pub state: PullState,
    pub draft: bool,
    pub head_branch: String,
    pub base_branch: String,
    pub head: Commit,
    pub author: AuthorFacts,
    pub labels: BTreeSet<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A pull request with everything that a person may want to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullDetail {
    pub pull: PullId,
    /// Includes resolved threads.
    pub facts: PullFacts,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The open pull request whose branch is its base.
    pub stacked_on: Option<PullId>,
    /// The pull requests whose base is its branch.
    pub stacked: Vec<PullId>,
    /// Oldest first, bounded.
    pub commits: Vec<CommitSeen>,
    /// Additional details for readers of each thread of `facts`, by its id.
    pub threads: BTreeMap<String, ThreadDetail>,
    /// The time of each review, by its id.
    pub reviewed_at: BTreeMap<String, Timestamp>,
    /// The time at which the text of a review was last edited, by its id.
    pub reworded_at: BTreeMap<String, Timestamp>,
    pub checks: Vec<CheckRun>,
    pub merged_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSeen {
    pub commit: Commit,
    pub title: String,
    pub author: String,
    pub at: Timestamp,
}

/// Details of a thread for readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDetail {
    pub side: DiffSide,
    /// The commit and the line that it was started on.
    pub commit: Option<Commit>,
    pub begun_line: Option<u32>,
    /// The lines that it was about have changed since.
    pub outdated: bool,
    pub resolved_by: Option<String>,
    /// The text of the line it was started on, bounded.
    pub context: Option<String>,
    /// The time of each comment, by its id.
    pub at: BTreeMap<String, Timestamp>,
    /// The time at which a comment was last edited, by its id.
    pub edited: BTreeMap<String, Timestamp>,
}

/// The side of a diff that a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    Old,
    #[default]
    New,
}

/// Changes to a pull request. Absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub base_branch: Option<String>,
    pub draft: Option<bool>,
    pub add_labels: BTreeSet<String>,
    pub remove_labels: BTreeSet<String>,
    /// `true` closes it without a merge, `false` reopens it.
    pub closed: Option<bool>,
}

/// A new comment on a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewComment {
    pub pull: PullId,
    pub by: AuthorFacts,
    pub body: String,
    pub at: CommentPlace,
    /// Marks it, so that a repeated call leaves one.
    pub key: Option<String>,
}

/// The location of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentPlace {
    /// On the pull request as a whole.
    Pull,
    /// At a line of a file at the head, or at a whole file.
    Line { path: String, line: Option<u32>, side: DiffSide },
    /// In an existing thread.
    Thread(String),
}

/// A review to be given. Its comments become threads of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewReview {
    pub pull: PullId,
    pub by: AuthorFacts,
    pub verdict: ReviewVerdict,
    pub body: String,
    /// The head that was judged. If it has moved since, the review is refused, so that only what was seen is
    /// approved.
    pub head: Option<Commit>,
    pub comments: Vec<ReviewComment>,
    /// Marks it, so that a repeated call gives one.
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    pub path: String,
    pub line: Option<u32>,
    pub side: DiffSide,
    pub body: String,
}

/// The reviews of a forge.
#[async_trait]
pub trait ScmReviews: Send + Sync {
    /// Returns the pull requests that match a filter, the newest first.
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, ScmError>;

    /// Returns one pull request with everything that can be read of it.
    async fn show(&self, pull: &PullId) -> Result<PullDetail, ScmError>;

    /// Returns the text of a pull request: its title, its body, and the messages of its commits, bounded.
    async fn words(&self, pull: &PullId) -> Result<String, ScmError> {
        let shown = self.show(pull).await?;
        let commits = shown.commits.iter().map(|commit| commit.title.as_str());
        let words = [shown.facts.title.as_str(), shown.body.as_str()].into_iter().chain(commits);
        Ok(words.collect::<Vec<_>>().join("\n"))
    }

    /// Returns its diff in git's format, of at most `limit` bytes.
    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, ScmError>;

    /// Returns the diff of exactly this head on this base, for scans: files that git treats as binary are included as
    /// text. Fails if the pull request has moved on from either.
    async fn diff_at(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, ScmError>;

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), ScmError>;

    /// Adds a comment. Returns the id of its thread.
    async fn comment(&self, comment: &NewComment) -> Result<String, ScmError>;

    /// Changes the text of a comment or a review, by its id. Only its author and the owner may. The result is a new
    /// revision, unless the text is the same.
    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), ScmError>;

    /// Replies in a thread.
    async fn reply(&self, reply: &ThreadReply) -> Result<(), ScmError>;

    /// Gives a review in the name of a person or a reviewer; the daemon itself never does. Returns its id.
    async fn review(&self, review: &NewReview) -> Result<String, ScmError>;

    /// Resolves a thread, or reopens it.
    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), ScmError>;
}
