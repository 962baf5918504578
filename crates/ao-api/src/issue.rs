//! Issues of trackers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::pull::Author;

/// Issues, the most recently changed first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issues {
    pub issues: Vec<Issue>,
    /// Mistakes in files that prevent issues from being read, each with its position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An issue of a tracker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// With its project: `my-app#42`.
    pub id: String,
    pub project_id: String,
    /// Without its project: `42`.
    pub key: String,
    pub title: String,
    #[serde(default)]
    pub body: String,
    pub state: OpenState,
    #[serde(default)]
    pub labels: Vec<String>,
    /// Higher runs first.
    #[serde(default)]
    pub priority: i32,
    /// The open issues that must be closed first: `my-app#9`.
    #[serde(default)]
    pub blocked_by: Vec<String>,
    pub assignee: Option<String>,
    pub author: Option<Author>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub url: Option<String>,
    /// The name of the session that works on it.
    pub session: Option<String>,
    /// Its comments, the oldest first; only in the response for a single issue.
    #[serde(default)]
    pub comments: Vec<IssueComment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssueComment {
    pub id: String,
    pub author: Author,
    pub body: String,
    pub at: Timestamp,
}

/// An issue to create.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewIssue {
    /// Its project; the only one by default.
    pub project_id: Option<String>,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub priority: i32,
    /// `9`, `#9` or `my-app#9`.
    pub blocked_by: Vec<String>,
    pub assignee: Option<String>,
    /// The idempotency key: no second issue with the same key is created.
    pub key: Option<String>,
    pub closed: bool,
}

/// Changes to an issue. Absent fields stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct IssueEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub add_labels: Vec<String>,
    pub remove_labels: Vec<String>,
    pub priority: Option<i32>,
    pub add_blocked_by: Vec<String>,
    pub remove_blocked_by: Vec<String>,
    /// An empty one removes the assignee.
    pub assignee: Option<String>,
    pub state: Option<OpenState>,
}

/// A comment on an issue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewIssueComment {
    pub body: String,
    /// The idempotency key: no second comment with the same key is created.
    pub key: Option<String>,
}

/// Issues to import from a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportOrder {
    pub project_id: Option<String>,
    pub format: ImportSource,
    pub text: String,
    /// Only reports what would be created.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub issues: Vec<ImportedIssue>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedIssue {
    /// Absent in a dry run for an issue that would be created.
    pub id: Option<String>,
    pub title: String,
    pub result: ImportOutcome,
}

wire_enum! {
    /// The state of an issue, or the state to give to an issue or a pull request.
    pub enum OpenState { Open, Closed }
}

wire_enum! {
    /// The issues to list, by their state.
    pub enum IssueStateFilter { Open, Closed, All }
}

wire_enum! {
    /// The format of a text with issues: `markdown` for a task list (`- [ ] …`), `github` for GitHub's JSON.
    pub enum ImportSource { Markdown, #[serde(rename = "github")] GitHub }
}

wire_enum! {
    /// The result for an imported issue; `would_be_made` in a dry run.
    pub enum ImportOutcome { Made, Known, WouldBeMade } or Unknown
}
