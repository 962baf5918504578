//! Branches that conflict with each other.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A comparison of the branches of a project: open pull requests, and the work of live sessions with their uncommitted
/// changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conflicts {
    pub project: String,
    /// The time of the comparison.
    pub at: Timestamp,
    pub branches: Vec<ConflictBranch>,
    /// All pairs that conflict.
    pub clashes: Vec<Conflict>,
    /// Branches that could not be compared.
    pub left_out: Vec<LeftOut>,
}

/// A branch in a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictBranch {
    /// Its name: that of a session, or a pull request such as `my-app!7`.
    pub name: String,
    pub kind: ConflictSource,
    pub branch: String,
    pub title: String,
    /// The session that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The number of files it changes.
    pub files: u32,
}

/// Two branches that conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The name of the first.
    pub a: String,
    /// The name of the second.
    pub b: String,
    pub files: Vec<ConflictFile>,
}

/// A file with conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictFile {
    pub path: String,
    /// Git's name of the conflict, such as `contents` or `modify/delete`.
    pub kind: String,
    /// The conflicting lines, if there are any.
    pub hunks: Vec<ConflictHunk>,
}

/// Lines that conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictHunk {
    pub a: ConflictLines,
    pub b: ConflictLines,
    /// Both versions and the original, between git's markers. Only in the response for one pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictLines {
    /// The first line, counted from 1. If there are none, the line before which they would be.
    pub first: u32,
    pub count: u32,
}

/// A branch or a pair of branches that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub name: String,
    pub why: String,
}

wire_enum! {
    /// The origin of a compared branch.
    pub enum ConflictSource { Session, Pull } or Unknown
}
