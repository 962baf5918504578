//! Commands of the user's own on the way from a task to a merge.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The hooks that are configured, in the order in which they are run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hooks {
    pub hooks: Vec<Hook>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    pub project_id: String,
    /// Where it runs: `before-assign`, `workspace-created`, `session-started`, `pr-created`, `checks-completed`,
    /// `review-received`, `before-merge`, `merged`, `session-ended`.
    pub point: String,
    pub command: String,
    pub timeout_seconds: u64,
    /// Whether what follows waits for it, and does not happen if it fails.
    pub may_object: bool,
}

/// What hooks have put out, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookLogs {
    pub logs: Vec<HookLog>,
}

/// The log of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookLog {
    pub id: String,
    pub at: Option<Timestamp>,
    /// The point, or `run` for a command of a reaction.
    pub what: String,
    /// How it ended, in words; absent while it runs, or if the daemon ended before it did.
    pub ended: Option<String>,
    /// Where the file is.
    pub path: String,
    /// What is in it, if that was asked for.
    pub text: Option<String>,
}

/// A wish to run the hooks of a point now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HookTest {
    /// May be left out if there is only one project, or a session is named.
    pub project_id: Option<String>,
    /// The session that the document is to be about.
    pub session: Option<String>,
}

/// What came of hooks that were run by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookTested {
    pub results: Vec<HookResult>,
    /// What they had on their standard input.
    pub document: String,
}

/// What came of one hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookResult {
    pub command: String,
    /// Absent if it was ended, by a signal or because it took too long.
    pub exit_code: Option<i32>,
    /// Why it counts as a no, if it does.
    pub objection: Option<String>,
    /// Where its log is.
    pub log: String,
}
