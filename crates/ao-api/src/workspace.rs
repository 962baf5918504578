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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Remove,
    Clean,
    Keep,
}
