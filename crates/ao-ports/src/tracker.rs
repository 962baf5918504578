//! Trackers: sources of tasks, with pages, webhooks and quotas.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ao_core::pull::AuthorFacts;
use ao_core::task::TaskFacts;
use ao_core::{ProjectId, TaskId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// The declared abilities of a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackerAbilities {
    /// Reports changes by itself, so that polling only covers missed ones.
    pub pushes: bool,
    /// Knows the dependencies between tasks.
    pub dependencies: bool,
    pub comments: bool,
    /// Tasks can be created and edited through it.
    pub edits: bool,
}

/// A task with the text that an agent gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSeen {
    pub task: TaskId,
    pub facts: TaskFacts,
    /// Text from outside: bounded, stripped and fenced before it reaches a prompt.
    pub body: String,
    /// The tracker's own name for a branch, if it has one.
    pub branch: Option<String>,
    pub url: Option<String>,
    pub author: Option<AuthorFacts>,
    pub assignee: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Oldest first. Only [`Tracker::task`] includes them; lists do not.
    pub comments: Vec<TaskComment>,
}

/// A comment on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskComment {
    pub id: String,
    pub author: AuthorFacts,
    pub body: String,
    pub at: Timestamp,
}

/// A page of tasks, oldest change first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPage {
    pub tasks: Vec<TaskSeen>,
    /// The next page; absent at the end.
    pub next: Option<String>,
}

/// A filter of tasks. Omitted fields match everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskFilter {
    /// `None` for both.
    pub closed: Option<bool>,
    /// All of these labels.
    pub labels: BTreeSet<String>,
    pub assignee: Option<String>,
    /// Text in title or body, without regard to case.
    pub text: Option<String>,
    /// The number of results, the latest changes first.
    pub limit: usize,
}

/// A task to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    pub project: ProjectId,
    pub title: String,
    pub body: String,
    pub labels: BTreeSet<String>,
    pub priority: i32,
    pub blocked_by: BTreeSet<TaskId>,
    pub assignee: Option<String>,
    pub by: AuthorFacts,
    /// Identifies it when the same list is imported twice: a second task with the same key is not created.
    pub key: Option<String>,
    /// It is closed already at its source.
    pub closed: bool,
}

/// Changes to a task. Absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub add_labels: BTreeSet<String>,
    pub remove_labels: BTreeSet<String>,
    pub priority: Option<i32>,
    pub add_blocked_by: BTreeSet<TaskId>,
    pub remove_blocked_by: BTreeSet<TaskId>,
    /// `Some(None)` removes the assignee.
    pub assignee: Option<Option<String>>,
    pub closed: Option<bool>,
}

/// A webhook call, as received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The raw bytes, because the signature covers exactly those.
    pub body: Vec<u8>,
}

/// A hint about what to look at. It is never a fact: webhooks come late, twice and not at all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookHint {
    Task(TaskId),
    Pull(ao_core::PullId),
    Project(ProjectId),
}

/// The receiver of hints from a tracker or a forge.
pub trait HintReceiver: Send + Sync {
    /// Never waits: a hint that cannot be taken now is covered by a later poll.
    fn hint(&self, hint: LookHint);
}

/// The remaining quota of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    pub limit: u64,
    pub left: u64,
    pub resets: Timestamp,
}

/// A tracker: a source of tasks.
#[async_trait]
pub trait Tracker: Send + Sync {
    fn abilities(&self) -> TrackerAbilities;

    /// Returns the tasks that changed since a time, a page at a time.
    async fn changed(
        &self,
        project: &ProjectId,
        since: Timestamp,
        page: Option<&str>,
    ) -> Result<TaskPage, TrackerError>;

    /// Returns the present facts of one task.
    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError>;

    /// Returns the tasks of a project that match a filter, the latest changes first.
    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        let _ = (project, filter);
        Err(unsupported("listing issues"))
    }

    /// Creates a task. With a `key` that was used before, returns the task that it was used for.
    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        let _ = new;
        Err(unsupported("making issues"))
    }

    /// Returns the task that was created with this `key`, if there is one, for a dry run of an import.
    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        let _ = (project, key);
        Err(unsupported("finding issues by their mark"))
    }

    /// Changes a task. An empty change is no error.
    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        let _ = (task, edit);
        Err(unsupported("editing issues"))
    }

    /// Adds a comment in the name of an author. `key` marks it as ours, so that a repeated call leaves one, and
    /// reading it back is no news.
    async fn comment(
        &self,
        task: &TaskId,
        by: &AuthorFacts,
        key: &str,
        text: &str,
    ) -> Result<(), TrackerError>;

    /// Closes the task, or succeeds if it is closed.
    async fn close(&self, task: &TaskId) -> Result<(), TrackerError>;

    /// Returns what people have to fix before all of its tasks can be read: the location and the error.
    async fn warnings(&self) -> Result<Vec<String>, TrackerError> {
        Ok(vec![])
    }

    /// Sends hints about what to look at, for as long as it is polled. A tracker that cannot watch returns at once.
    async fn watch(&self, hints: std::sync::Arc<dyn HintReceiver>) {
        let _ = hints;
    }

    /// Verifies a webhook's signature and returns what to look at. Unsigned calls are refused.
    async fn webhook(&self, webhook: &Webhook) -> Result<Vec<LookHint>, TrackerError>;

    /// Returns the quota from the last responses.
    fn quota(&self) -> Option<Quota>;
}

/// The reason why a tracker, or a forge, did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackerError {
    #[error("{what} was not found")]
    NotFound { what: String },
    /// The request is invalid, or impossible at present: the caller has to change it.
    #[error("{why}")]
    Refused { why: String },
    #[error("{what} is not possible here")]
    Unsupported { what: String },
    #[error("access to {what} was denied; check the token and its scopes")]
    Denied { what: String },
    /// A rate limit, which some services report as a denial.
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
