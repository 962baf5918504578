//! What lies on disk, and what may go.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to clean up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CleanupOrder {
    /// One session; all that have ended, if left out.
    pub session: Option<String>,
    pub project_id: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Free what git ignores, such as build output, in trees that have to stay.
    pub artifacts: bool,
    /// Throw the work of one session away: what is not committed and not pushed is no reason to keep its tree. It must have
    /// ended, and is named with `session`. A rescue ref keeps the last state for a while.
    pub discard: bool,
}

/// What became of a clean-up, or would become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cleanup {
    pub dry_run: bool,
    pub trees: Vec<TreeReport>,
    /// Bytes that were, or would be, freed.
    pub freed_bytes: u64,
}

/// A tree on disk and what is to become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeReport {
    /// Absent for a folder among ours that none of our records names. Such a one is never touched.
    pub session_id: Option<String>,
    pub session_name: Option<String>,
    pub project_id: String,
    pub path: String,
    pub bytes: u64,
    /// The part of it that git ignores.
    pub ignored_bytes: u64,
    pub decision: Decision,
    /// Why it is kept; empty if it goes.
    pub reasons: Vec<String>,
    /// Whether it is kept for the work in it alone, so that `discard` would remove it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_discard: bool,
    /// The work that is nowhere else, if `discard` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<TreeWork>,
    /// The ref that keeps its last state, once it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescue: Option<String>,
}

/// Work in a tree that is nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeWork {
    /// Files that differ from the last commit or are in none; the first of them.
    pub files: Vec<String>,
    /// How many there are.
    pub files_in_all: u64,
    /// Commits that nothing else keeps, each with its short id and its title; the newest of them.
    pub commits: Vec<String>,
    /// How many there are.
    pub commits_in_all: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Remove,
    Clean,
    Keep,
}
