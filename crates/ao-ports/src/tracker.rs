//! Where tasks come from: an issue tracker with pages, webhooks and quotas.

use std::collections::BTreeMap;
use std::time::Duration;

use ao_core::task::TaskFacts;
use ao_core::{ProjectId, TaskId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// What a tracker declares it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackerAbilities {
    /// Tells of changes by itself, so that asking is only for what was missed.
    pub pushes: bool,
    /// Knows which task waits for which.
    pub dependencies: bool,
    pub comments: bool,
}

/// A task with the words that an agent is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSeen {
    pub task: TaskId,
    pub facts: TaskFacts,
    /// Text from outside: bounded, stripped and fenced before it reaches a prompt.
    pub body: String,
    /// The tracker's own name for a branch, if it has one.
    pub branch: Option<String>,
    pub url: Option<String>,
}

/// A page of tasks, oldest change first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPage {
    pub tasks: Vec<TaskSeen>,
    /// Where to go on; absent at the end.
    pub next: Option<String>,
}

/// A call from outside, as it came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The raw bytes, because a signature covers nothing else.
    pub body: Vec<u8>,
}

/// What a webhook says is worth asking about. It is a hint and never a fact: webhooks come late, twice and not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    Task(TaskId),
    Pull(ao_core::PullId),
    Project(ProjectId),
}

/// How much may still be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    pub limit: u64,
    pub left: u64,
    pub resets: Timestamp,
}

/// Where tasks come from.
#[async_trait]
pub trait Tracker: Send + Sync {
    fn abilities(&self) -> TrackerAbilities;

    /// The tasks that changed since a time, a page at a time.
    async fn changed(
        &self,
        project: &ProjectId,
        since: Timestamp,
        page: Option<&str>,
    ) -> Result<TaskPage, TrackerError>;

    /// One task as it is now.
    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError>;

    /// Leaves a comment. `key` marks it as ours, so that a repeated call leaves one, and reading it back wakes nobody.
    async fn comment(&self, task: &TaskId, key: &str, text: &str) -> Result<(), TrackerError>;

    /// Closes the task, or succeeds if it is closed.
    async fn close(&self, task: &TaskId) -> Result<(), TrackerError>;

    /// Checks a webhook's signature and says what to ask about. Unsigned calls are refused.
    async fn webhook(&self, webhook: &Webhook) -> Result<Vec<Hint>, TrackerError>;

    /// What the last answers told about our quota.
    fn quota(&self) -> Option<Quota>;
}

/// Why a tracker, or a forge, gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackerError {
    #[error("{what} was not found")]
    NotFound { what: String },
    #[error("access to {what} was denied; check the token and its scopes")]
    Denied { what: String },
    /// A limit, which some services dress up as a denial.
    #[error("the quota is used up; it is asked again in {} s", .after.as_secs())]
    Limited { after: Duration },
    #[error("the webhook was refused: {why}")]
    BadWebhook { why: String },
    #[error("{0}")]
    Failed(String),
}
