//! Workspaces on disk, and their removal.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A clean-up order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CleanupOrder {
    /// One session; by default all that have ended.
    pub session: Option<String>,
    pub project_id: Option<String>,
    /// Only reports what would be done.
    pub dry_run: bool,
    /// Deletes files that git ignores, such as build output, in workspaces that have to stay.
    pub artifacts: bool,
    /// Throws the work of one session away: changes that are not committed or not pushed do not keep its workspace. The
    /// session must have ended and be named in `session`. A rescue ref saves the last state for a while.
    pub discard: bool,
}

/// The result of a clean-up, or of its dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cleanup {
    pub dry_run: bool,
    pub trees: Vec<TreeReport>,
    /// The number of bytes freed, or to be freed.
    pub freed_bytes: u64,
}

/// A workspace on disk, and the decision on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeReport {
    /// Absent for a folder of ours that is in no record. Such a folder is never touched.
    pub session_id: Option<String>,
    pub session_name: Option<String>,
    pub project_id: String,
    pub path: String,
    pub bytes: u64,
    /// The part of it that git ignores.
    pub ignored_bytes: u64,
    pub decision: Decision,
    /// The reasons it is kept; empty if it is removed.
    pub reasons: Vec<String>,
    /// `true` if only the work in it keeps it, so that `discard` would remove it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_discard: bool,
    /// The unsaved work, if `discard` was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<TreeWork>,
    /// The ref that saves its last state, once it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue: Option<String>,
}

/// Unsaved work in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeWork {
    /// Changed and untracked files; the first of them.
    pub files: Vec<String>,
    /// The number of all of them.
    pub files_in_all: u64,
    /// Commits that are on no other ref, each with its short id and its title; the newest of them.
    pub commits: Vec<String>,
    /// The number of all of them.
    pub commits_in_all: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Remove,
    Clean,
    Keep,
}
