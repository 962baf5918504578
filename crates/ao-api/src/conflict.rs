//! Which branches will not merge with each other.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The branches of a project, compared with each other: open pull requests, and the work of live sessions with what they
/// have not committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conflicts {
    pub project: String,
    /// When they were compared.
    pub at: Timestamp,
    pub branches: Vec<ConflictBranch>,
    /// Each pair that does not merge.
    pub clashes: Vec<Conflict>,
    /// What could not be compared.
    pub left_out: Vec<LeftOut>,
}

/// A line of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictBranch {
    /// What it is called: a session's name, or a pull request such as `my-app!7`.
    pub name: String,
    /// `session` or `pull`.
    pub kind: String,
    pub branch: String,
    pub title: String,
    /// The session whose work it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many files it has changed.
    pub files: u32,
}

/// Two branches that do not merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The name of the one.
    pub a: String,
    /// The name of the other.
    pub b: String,
    pub files: Vec<ConflictFile>,
}

/// A file that they do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictFile {
    pub path: String,
    /// Git's word for it, such as `contents` or `modify/delete`.
    pub kind: String,
    /// The places, if it is about lines.
    pub hunks: Vec<ConflictHunk>,
}

/// A place that they do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictHunk {
    pub a: ConflictLines,
    pub b: ConflictLines,
    /// Both versions with what was there before, between git's marks. Told for one pair only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictLines {
    /// The first one, counted from 1. If there are none, the line that they would stand before.
    pub first: u32,
    pub count: u32,
}

/// A branch, or a pair of them, that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub name: String,
    pub why: String,
}
