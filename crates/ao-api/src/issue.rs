//! Issues: what there is to do.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::pull::Author;

/// Issues, those first that changed last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issues {
    pub issues: Vec<Issue>,
    /// What people have to mend before all issues can be read: where it is, and what is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A piece of work, as its tracker tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// With its project: `my-app#42`.
    pub id: String,
    pub project_id: String,
    /// By itself: `42`.
    pub key: String,
    pub title: String,
    #[serde(default)]
    pub body: String,
    /// `open` or `closed`.
    pub state: String,
    #[serde(default)]
    pub labels: Vec<String>,
    /// Higher is done first.
    #[serde(default)]
    pub priority: i32,
    /// The issues that must be closed first and are still open: `my-app#9`.
    #[serde(default)]
    pub blocked_by: Vec<String>,
    #[serde(default)]
    pub assignee: Option<String>,
    #[serde(default)]
    pub author: Option<Author>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default)]
    pub url: Option<String>,
    /// The name of the session that works on it.
    #[serde(default)]
    pub session: Option<String>,
    /// Oldest first; only where one issue is asked for.
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

/// An issue to be made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewIssue {
    /// The only project, if absent.
    pub project_id: Option<String>,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub priority: i32,
    /// `9`, `#9` or `my-app#9`.
    pub blocked_by: Vec<String>,
    pub assignee: Option<String>,
    /// A second issue with the same mark is not made.
    pub key: Option<String>,
    pub closed: bool,
}

/// What is to be different about an issue. What is absent stays.
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
    /// An empty one takes it from whoever has it.
    pub assignee: Option<String>,
    /// `open` or `closed`.
    pub state: Option<String>,
}

/// Something to be said on an issue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewIssueComment {
    pub body: String,
    /// A second comment with the same mark is not made.
    #[serde(default)]
    pub key: Option<String>,
}

/// Issues to be brought in from a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportOrder {
    #[serde(default)]
    pub project_id: Option<String>,
    /// `markdown` for a list of tasks (`- [ ] …`), `github` for GitHub's JSON.
    pub format: String,
    pub text: String,
    /// Only say what would be made.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was brought in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub issues: Vec<ImportedIssue>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedIssue {
    /// Absent in a dry run of one that would be made.
    pub id: Option<String>,
    pub title: String,
    /// `made`, `known` or `would_be_made`.
    pub result: String,
}
