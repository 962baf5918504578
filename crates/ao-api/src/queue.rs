//! Merge queues: their entries in order, and what each waits for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The merge queues of projects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeQueues {
    pub queues: Vec<MergeQueue>,
}

/// The merge queue of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeQueue {
    pub project_id: String,
    /// The branch that all entries land on.
    pub branch: String,
    /// Its tip, as last seen; absent if nothing was ever queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The reason of the pause, if it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// `true` if the project configures its queue, so that `ao pr merge` uses it too.
    pub configured: bool,
    /// The number of tests that run at a time.
    pub parallel: u32,
    /// The number of pull requests that are tested together.
    pub batch: u32,
    /// In the order in which they will land if all tests pass.
    pub entries: Vec<QueuedPull>,
}

/// A pull request in a merge queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedPull {
    /// With its project: `my-app!7`.
    pub id: String,
    pub title: String,
    /// The head to land. If the pull request moves on, it leaves the queue.
    pub head: String,
    /// Higher goes first.
    pub priority: i32,
    /// The person who wants it merged at once, before every priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    pub since: Timestamp,
    pub state: QueuedState,
    /// A description of what it waits for.
    pub waits: String,
    /// The commit that it is tested on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The pull requests that are merged before it for its test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<String>,
    /// The pull requests that are tested and land together with it, itself included, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch: Vec<String>,
    /// The number of times that its test or its merge could not be carried out.
    pub tries: u32,
    /// The name of its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A pull request to queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewQueueEntry {
    /// `7`, `!7`, `my-app!7`, a branch, or a session that has one pull request.
    pub pull: String,
    /// The project to search, if the name has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The expected head. If it has moved since, nothing is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
}

/// The priority of a queue entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuePriority {
    /// Higher goes first.
    pub priority: i32,
}

/// A queue to pause or resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuePause {
    pub project: String,
    /// The reason, for people who look at the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

wire_enum! {
    /// The state of a queue entry.
    pub enum QueuedState { Waiting, Held, Testing, Tested, Failed, Landing } or Unknown
}
