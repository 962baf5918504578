//! Sessions: what there is, and what can be asked of one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::budget::Budget;
use crate::work::{PullWork, WorkState};

/// Every session that is known, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    pub sessions: Vec<Session>,
    /// The open pull requests that none of them answers for.
    #[serde(default)]
    pub pulls: Vec<PullWork>,
    /// The place in the event log that this is true for. Events behind it are news.
    pub seq: u64,
}

/// One agent at work on one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Never changes and is never used again: `ses_1f…`.
    pub id: String,
    /// What people type.
    pub name: String,
    pub project_id: String,
    /// `worker`, `orchestrator` or `reviewer`.
    pub role: String,
    /// What it works on, in one line.
    pub title: String,
    /// The issue that it is for, by its tracker's own key, such as `42`.
    pub issue: Option<String>,
    /// Where its process stands.
    pub status: Status,
    /// Where its work stands, and whose turn it is.
    #[serde(default)]
    pub work: WorkState,
    pub agent: Agent,
    /// Where its process runs: `process`, `tmux`, …
    pub runtime: String,
    pub branch: String,
    /// Its workspace, once there is one.
    pub workspace: Option<Tree>,
    pub created_at: Timestamp,
    /// Which start of its process is the present one; 0 before the first.
    pub attempt: u32,
    /// The ports that are its own, by the variables that carry them.
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
    /// Its pull requests, such as `my-app!7`.
    #[serde(default)]
    pub pulls: Vec<String>,
    /// Messages that have not reached the agent yet, and those that were given up.
    pub messages_waiting: u32,
    pub messages_failed: u32,
    /// How many calls of tools its agent was not allowed to make, as far as it tells, and the tool of the last one. Its turn
    /// may have ended well all the same.
    #[serde(default)]
    pub denied_tools: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_denied_tool: Option<String>,
    pub spend: Spend,
    /// What bounds that: its own budget and those that it shares with others, as far as there is a limit.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// Why it gets no further turn though nothing is wrong with it.
    #[serde(default)]
    pub holds: Vec<Hold>,
    /// Whether it can be restored now: it is at rest, its work is wanted, and no other session has taken its place.
    #[serde(default)]
    pub can_restore: bool,
    /// How many problems of it are open.
    pub incidents: u32,
}

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// One of `queued setting_up setup_failed starting working idle needs_input blocked rate_limited unknown capped paused
    /// retrying exited stopping stopped merged`.
    pub state: String,
    /// Why we say so.
    pub reason: String,
    pub since: Timestamp,
    /// Seconds in which nothing has shown a working agent at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_seconds: Option<u64>,
    /// What an open dialog asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The number of that question. An answer names it, so that it reaches this question and no later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_number: Option<u32>,
}

/// Which agent it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub name: String,
    pub model: Option<String>,
    pub account: Option<String>,
    /// The agent's own name for its conversation.
    pub conversation: Option<String>,
}

/// A folder that a session works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tree {
    /// `worktree` or `clone`.
    pub kind: String,
    pub path: String,
    /// The commit it began with.
    pub base: String,
    /// `ready`, `removing`, `kept`, `removed` or `doubtful`.
    pub state: String,
    /// Why it is kept though its removal was asked for.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The ref that brings the last state of a removed one back.
    pub rescue: Option<String>,
}

/// What has been used up. What nobody could tell is absent, and is not nought.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spend {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: u64,
    pub seconds: u64,
}

/// Why a session is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// `person`, `consent`, `budget`, `task_budget`, `project_budget`, `total_budget`, `daily_budget` or `account`.
    pub kind: String,
    pub why: String,
    pub since: Timestamp,
}

/// The answer to `GET /api/sessions/{id}/status`: what a script asks most often, flat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub agent: String,
    pub state: String,
    pub reason: String,
    pub since: Timestamp,
    pub current_task: String,
    pub issue: Option<String>,
    pub branch: String,
    pub workspace_path: Option<String>,
    pub runtime: String,
    /// Where its work stands, and whose turn it is.
    #[serde(default)]
    pub work: WorkState,
}

/// A wish for a new session. It needs an issue, a title or a prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NewSession {
    /// May be left out if there is only one project.
    pub project_id: Option<String>,
    /// An issue by its tracker's own key: `42`, `#42`, `my-app#42`, `GH-789`. It must exist.
    pub issue: Option<String>,
    pub title: Option<String>,
    /// What the agent is to do; made of the issue and the title if it is left out.
    pub prompt: Option<String>,
    /// A wished-for name; made of the project and the task if it is left out.
    pub name: Option<String>,
    pub branch: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub runtime: Option<String>,
    pub workspace: Option<String>,
    /// Take over the branch of this pull request.
    pub claim_pr: Option<u64>,
    /// `worker` unless said otherwise; there is one `orchestrator` for a project.
    pub role: Option<String>,
    pub priority: Option<i32>,
    /// Answer for an issue that an outsider wrote: its text becomes the agent's task. Only the owner can; no agent's token
    /// may say it.
    pub trust: bool,
    /// Start although the tracker cannot be asked about the issue. An issue that the tracker does not have starts nothing all
    /// the same. Only the owner can say it.
    pub force: bool,
}

/// The session that a wish has come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spawned {
    pub session: Session,
    /// False if the issue had this session already, and so no second one was made.
    pub created: bool,
}

/// An end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Stop {
    pub why: Option<String>,
    /// Also ask for the workspace to be removed, if nothing would be lost by that.
    pub cleanup: bool,
}

/// The end of a pause, with new limits if a budget was the reason.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Resume {
    /// Whose limits they are: `session` unless said otherwise, or one that it shares with others: `task`, `project`,
    /// `project-day` or `day`. The last two are for today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: Option<u64>,
    pub seconds: Option<u64>,
}

/// How a session is brought back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Restore {
    /// The runtime in which it goes on; the one that is configured now, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

/// A piece of what a session's program has put out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The offset of the first byte. More than was asked for if older output is no longer kept.
    pub from: u64,
    /// Where to go on.
    pub next: u64,
    /// What was put out, with everything that is not text left out or replaced.
    pub text: String,
    /// Whether the program has ended, so that nothing more comes.
    pub ended: bool,
}
