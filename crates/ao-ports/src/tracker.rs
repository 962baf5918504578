//! Where tasks come from: an issue tracker with pages, webhooks and quotas.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ao_core::pull::Author;
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
    /// Tasks can be made and edited through it.
    pub edits: bool,
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
    pub author: Option<Author>,
    pub assignee: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Oldest first. Only [`Tracker::task`] brings them; in lists there are none.
    pub comments: Vec<TaskComment>,
}

/// What somebody has said on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskComment {
    pub id: String,
    pub author: Author,
    pub body: String,
    pub at: Timestamp,
}

/// A page of tasks, oldest change first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPage {
    pub tasks: Vec<TaskSeen>,
    /// Where to go on; absent at the end.
    pub next: Option<String>,
}

/// Which tasks are wanted. What is not said is not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskFilter {
    /// `None` for both.
    pub closed: Option<bool>,
    /// All of them.
    pub labels: BTreeSet<String>,
    pub assignee: Option<String>,
    /// Words that stand in title or body, whatever the case of their letters.
    pub text: Option<String>,
    /// At most so many, those that changed last.
    pub limit: usize,
}

/// A task to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    pub project: ProjectId,
    pub title: String,
    pub body: String,
    pub labels: BTreeSet<String>,
    pub priority: i32,
    pub blocked_by: BTreeSet<TaskId>,
    pub assignee: Option<String>,
    pub by: Author,
    /// What tells it from others when the same list is brought in twice: a second one with the same mark is not made.
    pub key: Option<String>,
    /// It is closed already where it comes from.
    pub closed: bool,
}

/// What is to be different about a task. What is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub add_labels: BTreeSet<String>,
    pub remove_labels: BTreeSet<String>,
    pub priority: Option<i32>,
    pub add_blocked_by: BTreeSet<TaskId>,
    pub remove_blocked_by: BTreeSet<TaskId>,
    /// `Some(None)` takes it from whoever has it.
    pub assignee: Option<Option<String>>,
    pub closed: Option<bool>,
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    Task(TaskId),
    Pull(ao_core::PullId),
    Project(ProjectId),
}

/// Where a tracker or a forge says what is worth asking about.
pub trait Hints: Send + Sync {
    /// Never waits: what cannot be taken in now is asked about anyhow, later.
    fn hint(&self, hint: Hint);
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

    /// The tasks of a project that a person asks for, those first that changed last.
    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        let _ = (project, filter);
        Err(unsupported("listing issues"))
    }

    /// Makes a task. With a `key` that was used before, returns the task that it was used for.
    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        let _ = new;
        Err(unsupported("making issues"))
    }

    /// The task that was made with this `key`, if there is one, so that an import can be tried without making anything.
    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        let _ = (project, key);
        Err(unsupported("finding issues by their mark"))
    }

    /// Changes a task. To change nothing is no error.
    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        let _ = (task, edit);
        Err(unsupported("editing issues"))
    }

    /// Leaves a comment in somebody's name. `key` marks it as ours, so that a repeated call leaves one, and reading it back
    /// wakes nobody.
    async fn comment(&self, task: &TaskId, by: &Author, key: &str, text: &str) -> Result<(), TrackerError>;

    /// Closes the task, or succeeds if it is closed.
    async fn close(&self, task: &TaskId) -> Result<(), TrackerError>;

    /// What people have to mend before all of its tasks can be read: where it is, and what is wrong.
    async fn warnings(&self) -> Result<Vec<String>, TrackerError> {
        Ok(vec![])
    }

    /// Says what is worth asking about, for as long as it is polled. One that cannot tell by itself returns at once.
    async fn watch(&self, hints: std::sync::Arc<dyn Hints>) {
        let _ = hints;
    }

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
    /// What was asked for makes no sense, or cannot be as things stand: the caller's to mend.
    #[error("{why}")]
    Refused { why: String },
    #[error("{what} is not possible here")]
    Unsupported { what: String },
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

impl TrackerError {
    pub fn not_found(what: impl Into<String>) -> TrackerError {
        TrackerError::NotFound { what: what.into() }
    }

    pub fn refused(why: impl Into<String>) -> TrackerError {
        TrackerError::Refused { why: why.into() }
    }
}

pub(crate) fn unsupported(what: &str) -> TrackerError {
    TrackerError::Unsupported { what: what.to_owned() }
}
