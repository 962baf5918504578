//! Pull requests, reviews and merges.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::check::CheckRun;
use crate::issue::OpenState;

/// Pull requests, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pulls {
    pub pulls: Vec<Pull>,
    /// The number of all, if that is known and not all are included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// A pull request in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pull {
    /// With its project: `my-app!7`.
    pub id: String,
    pub project_id: String,
    pub number: u64,
    pub title: String,
    pub state: PullStatus,
    pub draft: bool,
    pub head_branch: String,
    pub base_branch: String,
    pub head: String,
    pub author: Author,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    pub checks: PullChecks,
    /// For the current head.
    pub review: PullReview,
    pub mergeable: PullMergeability,
    /// The name of its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub updated_at: Timestamp,
}

/// The author of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    pub login: String,
    pub standing: AuthorRole,
}

/// A pull request with all details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullDetail {
    #[serde(flatten)]
    pub pull: Pull,
    pub body: String,
    pub url: String,
    /// The tip of its base branch.
    pub base: String,
    pub created_at: Timestamp,
    /// The commit that it was merged as.
    pub merged_as: Option<String>,
    pub merged_by: Option<String>,
    /// The open pull request whose branch is its base, and those that are based on it.
    pub stacked_on: Option<String>,
    #[serde(default)]
    pub stacked: Vec<String>,
    #[serde(default)]
    pub conflicts: Vec<String>,
    pub files: Vec<String>,
    pub added: u64,
    pub removed: u64,
    pub commits: Vec<PullCommit>,
    pub check_runs: Vec<CheckRun>,
    pub reviews: Vec<Review>,
    pub threads: Vec<Thread>,
    /// The reasons it would not be merged now; empty if there are none.
    #[serde(default)]
    pub blockers: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullCommit {
    pub commit: String,
    pub title: String,
    pub author: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    pub id: String,
    pub author: Author,
    pub verdict: ReviewResult,
    pub commit: String,
    /// `true` if it was given for an earlier head, and does not count.
    pub stale: bool,
    pub body: String,
    pub at: Option<Timestamp>,
    /// The time of the last edit, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub id: String,
    pub path: Option<String>,
    /// The position of its line at the current head.
    pub line: Option<u32>,
    pub side: ThreadSide,
    pub resolved: bool,
    pub resolved_by: Option<String>,
    /// `true` if its lines have changed since.
    pub outdated: bool,
    pub context: Option<String>,
    pub comments: Vec<Comment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    pub id: String,
    pub author: Author,
    pub body: String,
    pub url: String,
    pub at: Option<Timestamp>,
    /// The time of the last edit, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
}

/// A pull request to open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewPull {
    /// Its project; by default that of the session, or the only one.
    pub project_id: Option<String>,
    /// The branch with the change; for an agent by default the one of its workspace.
    pub head: Option<String>,
    /// By default the project's default branch. The branch of another pull request makes a stack.
    pub base: Option<String>,
    /// By default the first line of the newest commit.
    pub title: Option<String>,
    pub body: String,
    pub draft: bool,
    pub labels: Vec<String>,
    /// The session that it belongs to; if an agent opens it, its own.
    pub session: Option<String>,
}

/// Changes to a pull request. Absent fields stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub base: Option<String>,
    pub draft: Option<bool>,
    pub add_labels: Vec<String>,
    pub remove_labels: Vec<String>,
    pub state: Option<OpenState>,
}

/// A comment on a pull request: in a thread, on a line of a file, on a file, or on the whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewComment {
    pub body: String,
    pub thread: Option<String>,
    pub path: Option<String>,
    pub line: Option<u32>,
    /// By default `new`.
    pub side: Option<ThreadSide>,
    /// The idempotency key: no second comment with the same key is created.
    pub key: Option<String>,
}

/// The thread and comment that were created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Commented {
    pub thread: String,
}

/// The new text of a comment or a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommentEdit {
    pub body: String,
}

/// A review to submit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewReview {
    pub verdict: ReviewChoice,
    #[serde(default)]
    pub body: String,
    /// The reviewed head. If it has moved since, the review is refused.
    pub head: Option<String>,
    #[serde(default)]
    pub comments: Vec<NewReviewComment>,
    /// The idempotency key: no second review with the same key is created.
    pub key: Option<String>,
}

impl NewReview {
    /// Returns a review that consists of a verdict only.
    pub fn new(verdict: ReviewChoice) -> NewReview {
        NewReview { verdict, body: String::new(), head: None, comments: vec![], key: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewReviewComment {
    pub path: String,
    pub line: Option<u32>,
    /// By default `new`.
    pub side: Option<ThreadSide>,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reviewed {
    pub id: String,
}

/// The state of a review thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resolve {
    #[serde(default = "yes")]
    pub resolved: bool,
}

fn yes() -> bool {
    true
}

/// A merge request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewMerge {
    /// By default as configured.
    pub strategy: Option<MergeMethod>,
    /// The expected head. If it has moved since, nothing is merged.
    pub head: Option<String>,
    /// Deletes its branch as well; by default as configured.
    pub delete_branch: Option<bool>,
    /// Merges even though a required check has not passed, or changes are requested. A conflict and a moved head still
    /// prevent it.
    pub anyway: bool,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeDone {
    pub pull: PullDetail,
    /// The commit that it was merged as.
    pub commit: String,
    #[serde(default)]
    pub branch_deleted: bool,
    /// The reason its branch still exists, if it was to be deleted.
    pub branch_left: Option<String>,
}

/// The session that a pull request belongs to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Claim {
    /// None if absent.
    pub session: Option<String>,
}

/// The diff of a pull request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The output of `git diff`.
    pub diff: String,
    /// `true` if it was truncated.
    pub cut: bool,
}

/// A request to review a pull request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewReviewer {
    /// By default the project's own.
    pub agent: Option<String>,
    /// Further instructions, besides those of every reviewer.
    pub prompt: Option<String>,
}

wire_enum! {
    /// The state of a pull request.
    pub enum PullStatus { Open, Merged, Closed } or Unknown
}

wire_enum! {
    /// The pull requests to list, by their state.
    pub enum PullStateFilter { Open, Merged, Closed, All }
}

wire_enum! {
    /// The checks of a pull request together. `blocked` means that a conflict prevents them.
    pub enum PullChecks { Passed, Failed, Pending, Blocked, None } or Unknown
}

wire_enum! {
    /// The reviews of a pull request together.
    pub enum PullReview { Approved, ChangesRequested, Commented, None } or Unknown
}

wire_enum! {
    /// The result of a merge with the base.
    pub enum PullMergeability { Clean, Conflict } and Unknown
}

wire_enum! {
    /// The role of an author in the project.
    pub enum AuthorRole { Owner, Member, Collaborator, Bot, Agent, Outsider } or Unknown
}

wire_enum! {
    /// The verdict of a review.
    pub enum ReviewResult { Approved, ChangesRequested, Commented } or Unknown
}

wire_enum! {
    /// The verdict to give.
    pub enum ReviewChoice { Approve, RequestChanges, Comment }
}

wire_enum! {
    /// The side of a diff.
    pub enum ThreadSide { Old, New }
}

wire_enum! {
    /// The way to merge.
    pub enum MergeMethod { Squash, Merge, Rebase }
}
