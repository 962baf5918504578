//! Pull requests: what is proposed, what is said of it, and what becomes of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::check::CheckRun;

/// Pull requests, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pulls {
    pub pulls: Vec<Pull>,
    /// How many there are in all, if that is known and they are not all here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// `open`, `merged` or `closed`.
    pub state: String,
    pub draft: bool,
    pub head_branch: String,
    pub base_branch: String,
    pub head: String,
    pub author: Author,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// `passed`, `failed`, `pending`, `blocked` by a conflict, or `none`.
    pub checks: String,
    /// `approved`, `changes_requested`, `commented` or `none`, for the present head.
    pub review: String,
    /// `clean`, `conflict` or `unknown`.
    pub mergeable: String,
    /// The name of the session that answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub updated_at: Timestamp,
}

/// Who said or did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    pub login: String,
    /// `owner`, `member`, `collaborator`, `bot`, `agent` or `outsider`.
    pub standing: String,
}

/// A pull request with everything that can be read of it.
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
    #[serde(default)]
    pub merged_as: Option<String>,
    #[serde(default)]
    pub merged_by: Option<String>,
    /// The open pull request whose branch is its base, and those that stand on it.
    #[serde(default)]
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
    /// Why it would not be merged now; empty if nothing stands in the way.
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
    /// `approved`, `changes_requested` or `commented`.
    pub verdict: String,
    pub commit: String,
    /// It was given on an earlier head, and speaks for nothing now.
    pub stale: bool,
    pub body: String,
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// When its words were last changed, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub id: String,
    #[serde(default)]
    pub path: Option<String>,
    /// Where its line is at the present head.
    #[serde(default)]
    pub line: Option<u32>,
    /// `old` or `new`.
    pub side: String,
    pub resolved: bool,
    #[serde(default)]
    pub resolved_by: Option<String>,
    /// The lines that it was about have changed since.
    pub outdated: bool,
    #[serde(default)]
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
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// When it was last changed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
}

/// A pull request to be opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewPull {
    /// That of the session, or the only one, if absent.
    pub project_id: Option<String>,
    /// The branch with the change; for an agent the one its workspace is on, if absent.
    pub head: Option<String>,
    /// The project's default branch, if absent. The branch of another pull request makes a stack.
    pub base: Option<String>,
    /// The first line of the newest commit, if absent.
    pub title: Option<String>,
    pub body: String,
    pub draft: bool,
    pub labels: Vec<String>,
    /// The session that is to answer for it; an agent's own, if an agent opens it.
    pub session: Option<String>,
}

/// What is to be different about a pull request. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub base: Option<String>,
    pub draft: Option<bool>,
    pub add_labels: Vec<String>,
    pub remove_labels: Vec<String>,
    /// `open` or `closed`.
    pub state: Option<String>,
}

/// Something to be said on a pull request: in a thread, at a line of a file, at a file, or on the whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewComment {
    pub body: String,
    pub thread: Option<String>,
    pub path: Option<String>,
    pub line: Option<u32>,
    /// `new`, if absent, or `old`.
    pub side: Option<String>,
    /// A second comment with the same mark is not made.
    pub key: Option<String>,
}

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Commented {
    pub thread: String,
}

/// What a comment, or a review, is to say instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommentEdit {
    pub body: String,
}

/// A review to be given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewReview {
    /// `approve`, `request_changes` or `comment`.
    pub verdict: String,
    pub body: String,
    /// The head that was read. If it has moved since, the review is refused.
    pub head: Option<String>,
    pub comments: Vec<NewReviewComment>,
    /// A second review with the same mark is not given.
    pub key: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewReviewComment {
    pub path: String,
    pub line: Option<u32>,
    /// `new`, if absent, or `old`.
    pub side: Option<String>,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reviewed {
    pub id: String,
}

/// Whether a thread is done with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resolve {
    #[serde(default = "yes")]
    pub resolved: bool,
}

fn yes() -> bool {
    true
}

/// A wish to merge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MergeWish {
    /// `squash`, `merge` or `rebase`; as configured, if absent.
    pub strategy: Option<String>,
    /// The head that is meant. If it has moved since, nothing is merged.
    pub head: Option<String>,
    /// Whether its branch goes too; as configured, if absent.
    pub delete_branch: Option<bool>,
    /// Although a required check has not passed, or somebody has asked for changes. A conflict and a moved head stand in the
    /// way all the same.
    pub anyway: bool,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeDone {
    pub pull: PullDetail,
    /// The commit that it was merged as.
    pub commit: String,
    #[serde(default)]
    pub branch_deleted: bool,
    /// Why its branch is still there, if it was to go.
    #[serde(default)]
    pub branch_left: Option<String>,
}

/// Who is to answer for a pull request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Claim {
    /// Nobody, if absent.
    pub session: Option<String>,
}

/// What a pull request changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// As `git diff` writes it.
    pub diff: String,
    /// It is longer than what is here.
    pub cut: bool,
}

/// A reviewer to be set to work on a pull request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReviewerWish {
    /// The project's own, if absent.
    pub agent: Option<String>,
    /// What to look for, besides what every reviewer looks for.
    pub prompt: Option<String>,
}
