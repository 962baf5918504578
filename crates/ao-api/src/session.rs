//! Sessions, and operations on them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::budget::{Budget, BudgetKind};
use crate::work::{PullWork, WorkState};

/// All sessions, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    pub sessions: Vec<Session>,
    /// The open pull requests that belong to none of them.
    #[serde(default)]
    pub pulls: Vec<PullWork>,
    /// The position in the event log of this state. Later events are not included.
    pub seq: u64,
}

/// A session: one task given to one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Never changes and is never reused: `ses_1f…`.
    pub id: String,
    /// The name that people use.
    pub name: String,
    pub project_id: String,
    pub role: AgentRole,
    /// Its task, in one line.
    pub title: String,
    /// Its issue, by its tracker's own key, such as `42`.
    pub issue: Option<String>,
    /// The state of its agent.
    pub status: Status,
    /// The progress of its work, and the party that has to act next.
    pub work: WorkState,
    pub agent: Agent,
    /// Its runtime: `process`, `tmux`, …
    pub runtime: String,
    pub branch: String,
    /// Its workspace, once it is created.
    pub workspace: Option<Tree>,
    pub created_at: Timestamp,
    /// The number of the current attempt; 0 before the first.
    pub attempt: u32,
    /// Its leased ports, by the variables that hold them.
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
    /// Its pull requests, such as `my-app!7`.
    #[serde(default)]
    pub pulls: Vec<String>,
    /// The number of messages that are undelivered or were given up.
    pub messages_waiting: u32,
    pub messages_failed: u32,
    /// The number of tool calls that its agent was denied, as far as it reports them, and the tool of the last one. Its
    /// turn may still have ended well.
    #[serde(default)]
    pub denied_tools: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_denied_tool: Option<String>,
    pub spend: Spend,
    /// The budgets that limit it: its own and shared ones, as far as there is a limit.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// The reasons it gets no further turn although nothing is wrong with it.
    #[serde(default)]
    pub holds: Vec<Hold>,
    /// `true` if it can be restored now: it is at rest, its work is wanted, and no other session has replaced it.
    #[serde(default)]
    pub can_restore: bool,
    /// The number of its open incidents.
    pub incidents: u32,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub state: SessionState,
    /// The reason for this state.
    pub reason: String,
    pub since: Timestamp,
    /// Seconds since a working agent last showed activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_seconds: Option<u64>,
    /// The question of an open dialog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The number of that question. An answer names it, so that it reaches this question and no later one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_number: Option<u32>,
    /// All open asks, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
}

/// A request of an agent to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// The agent's own id of it.
    pub id: String,
    /// Its number in the session, by which it is answered.
    pub number: u32,
    pub since: Timestamp,
    pub kind: AskType,
    pub title: String,
    /// The exact subject of a permission.
    #[serde(default)]
    pub details: Vec<AskDetail>,
    /// `true` if only the beginnings of the details are here. `GET /api/sessions/{id}/asks/{ask}` has all of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The possible answers. Without any, the answer is a text.
    #[serde(default)]
    pub options: Vec<AskOption>,
    /// The answer that the agent is being given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<GivenAnswer>,
}

/// An answer to an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenAnswer {
    pub by: String,
    pub answer: String,
}

/// The open asks of all sessions, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asks {
    pub asks: Vec<SessionAsk>,
    /// The position in the event log of this state. Later events are not included.
    pub seq: u64,
}

/// An open ask, with its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAsk {
    pub session_id: String,
    pub session_name: String,
    pub project_id: String,
    pub ask: Ask,
}

/// A part of what is to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskDetail {
    pub kind: AskDetailType,
    /// The file of a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub text: String,
}

/// A possible answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskOption {
    pub id: String,
    pub label: String,
    pub kind: AskOptionType,
}

/// The agent of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub name: String,
    pub model: Option<String>,
    pub account: Option<String>,
    /// The agent's own id of its conversation.
    pub conversation: Option<String>,
}

/// The workspace of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tree {
    /// `worktree` or `clone`.
    pub kind: String,
    pub path: String,
    /// The commit it started from.
    pub base: String,
    pub state: TreeState,
    /// The reasons it is kept although its removal was requested.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The ref that saves the last state of a removed one.
    pub rescue: Option<String>,
}

/// Resources used. A value that is not known is absent, not 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spend {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: u64,
    pub seconds: u64,
}

/// A reason to hold a session back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    pub kind: HoldReason,
    pub why: String,
    pub since: Timestamp,
}

/// The response of `GET /api/sessions/{id}/status`: the most requested fields, flat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub agent: String,
    pub state: ReportedState,
    pub reason: String,
    pub since: Timestamp,
    pub current_task: String,
    pub issue: Option<String>,
    pub branch: String,
    pub workspace_path: Option<String>,
    pub runtime: String,
    /// The progress of its work, and the party that has to act next.
    #[serde(default)]
    pub work: WorkState,
}

/// The state of a session, in the requested vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ReportedState {
    Original(OriginalState),
    Full(SessionState),
}

/// A session to spawn. It needs an issue, a title or a prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NewSession {
    /// May be absent if there is only one project.
    pub project_id: Option<String>,
    /// An issue by its tracker's own key: `42`, `#42`, `my-app#42`, `GH-789`. It must exist.
    pub issue: Option<String>,
    pub title: Option<String>,
    /// The prompt of the agent; by default made from the issue and the title.
    pub prompt: Option<String>,
    /// The preferred name; by default made from the project and the task.
    pub name: Option<String>,
    pub branch: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub runtime: Option<String>,
    pub workspace: Option<String>,
    /// Takes over the branch of this pull request.
    pub claim_pr: Option<u64>,
    /// By default `worker`; a project has one `orchestrator`.
    pub role: Option<AgentRole>,
    pub priority: Option<i32>,
    /// Approves an issue that an outsider wrote: its text becomes the agent's task. Only the owner can, never the token
    /// of an agent.
    pub trust: bool,
    /// Starts although the tracker cannot be reached for the issue. An issue that the tracker does not have is still
    /// refused. Only the owner can.
    pub force: bool,
}

/// The result of a spawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spawned {
    pub session: Session,
    /// `false` if the issue had this session already, so that no second one was created.
    pub created: bool,
}

/// A request to stop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Stop {
    pub why: Option<String>,
    /// Also removes the workspace, if nothing would be lost.
    pub cleanup: bool,
}

/// The end of a pause, with new limits if a budget was the reason.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Resume {
    /// The owner of the limits: by default `session`, or a shared budget. `project-day` and `day` are for today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<BudgetKind>,
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: Option<u64>,
    pub seconds: Option<u64>,
}

/// Options to restore a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Restore {
    /// The runtime to continue in; by default the one that is configured now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

/// A part of the output of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The offset of the first byte. It is greater than requested if older output is no longer kept.
    pub from: u64,
    /// The offset to continue at.
    pub next: u64,
    /// The output, with everything that is not text removed or replaced.
    pub text: String,
    /// `true` if the program has ended, so that there is no more output.
    pub ended: bool,
}

wire_enum! {
    /// The role of a session.
    pub enum AgentRole { Worker, Orchestrator, Reviewer }
}

wire_enum! {
    /// The state of a session. `capped` means that a budget is spent.
    pub enum SessionState {
        Queued, SettingUp, SetupFailed, Starting, Working, Idle, NeedsInput, Blocked, RateLimited, Capped, Paused,
        Retrying, Exited, Stopping, Stopped, Merged
    } and Unknown
}

wire_enum! {
    /// One of the four states that clients of the original know.
    pub enum OriginalState { Working, Waiting, Idle, Error }
}

wire_enum! {
    /// The kind of an ask: to be allowed something, to choose an option, or to be given a text.
    pub enum AskType { Permission, Choice, Text } or Unknown
}

wire_enum! {
    /// The subject of a part of an ask.
    pub enum AskDetailType { Tool, Command, Path, Diff } or Unknown
}

wire_enum! {
    /// The meaning of an option.
    pub enum AskOptionType { AllowOnce, AllowAlways, RejectOnce, RejectAlways, Other } or Unknown
}

wire_enum! {
    /// The state of a workspace. Only the command line reports `deleted`: the folder is gone, which the daemon notices
    /// when it needs it.
    pub enum TreeState { Ready, Removing, Kept, Removed, Doubtful, Deleted } or Unknown
}

wire_enum! {
    /// The kind of a hold.
    pub enum HoldReason {
        Person, Consent, Budget, TaskBudget, ProjectBudget, TotalBudget, DailyBudget, Account, Hook,
    } or Unknown
}
