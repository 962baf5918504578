//! Hooks: the user's commands on the way from a task to a merge.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The configured hooks, in the order in which they run.
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
    pub point: HookTrigger,
    pub command: String,
    pub timeout_seconds: u64,
    /// `true` if the next step waits for it, and does not happen if it fails.
    pub may_object: bool,
}

/// The output of hooks, the newest first.
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
    /// The hook point, or `run` for a command of a reaction.
    pub what: String,
    /// A description of its end; absent while it runs, or if the daemon ended first.
    pub ended: Option<String>,
    /// The path of the file.
    pub path: String,
    /// Its content, if requested.
    pub text: Option<String>,
}

/// A request to run the hooks of a point now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HookTest {
    /// May be absent if there is only one project, or a session is named.
    pub project_id: Option<String>,
    /// The session that the document is about.
    pub session: Option<String>,
}

/// The results of hooks that were run by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookTested {
    pub results: Vec<HookResult>,
    /// Their standard input.
    pub document: String,
}

/// The result of one hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookResult {
    pub command: String,
    /// Absent if it was ended by a signal or timed out.
    pub exit_code: Option<i32>,
    /// The reason it counts as an objection, if it does.
    pub objection: Option<String>,
    /// The path of its log.
    pub log: String,
}

wire_enum! {
    /// A hook point.
    pub enum HookTrigger in "kebab-case" {
        BeforeAssign, WorkspaceCreated, SessionStarted, PrCreated, ChecksCompleted, ReviewReceived, BeforeMerge, Merged,
        SessionEnded,
    } or Unknown
}
