//! Trackers: sources of tasks.

use std::collections::BTreeSet;

use ao_core::pull::AuthorFacts;
use ao_core::task::TaskFacts;
use ao_core::{ProjectId, TaskId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::service::{HintReceiver, ServiceError};

/// The reason why a tracker did not do it.
pub type TrackerError = ServiceError;

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

/// A tracker: a source of tasks.
#[async_trait]
pub trait Tracker: Send + Sync {
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
        Err(TrackerError::unsupported("listing issues"))
    }

    /// Creates a task. With a `key` that was used before, returns the task that it was used for.
    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        let _ = new;
        Err(TrackerError::unsupported("making issues"))
    }

    /// Returns the task that was created with this `key`, if there is one, for a dry run of an import.
    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        let _ = (project, key);
        Err(TrackerError::unsupported("finding issues by their mark"))
    }

    /// Changes a task. An empty change is no error.
    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        let _ = (task, edit);
        Err(TrackerError::unsupported("editing issues"))
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
}
