//! Merge queues: what is going to land, in which order, and what each waits for.

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
    /// The branch that everything lands on.
    pub branch: String,
    /// Its tip, as last seen; absent if nothing was ever queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Why nothing is started, if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// Whether the project says how its queue goes about it, so that `ao pr merge` goes through it too.
    pub configured: bool,
    /// How many tests run at a time.
    pub parallel: u32,
    /// How many pull requests are tested as one.
    pub batch: u32,
    /// In the order in which they would land if all went well now.
    pub entries: Vec<QueuedPull>,
}

/// A pull request in a merge queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedPull {
    /// With its project: `my-app!7`.
    pub id: String,
    pub title: String,
    /// What was asked to land. If the pull request moves on, it leaves the queue.
    pub head: String,
    /// Higher goes first.
    pub priority: i32,
    /// The person who wants it merged at once, before every priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    pub since: Timestamp,
    /// `waiting`, `held`, `testing`, `tested`, `failed` or `landing`.
    pub state: String,
    /// What it waits for, or why it does not go on, in words.
    pub waits: String,
    /// The commit that it is tested on, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The pull requests that are merged before it for its test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<String>,
    /// All that are tested and land as one with it, itself among them, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch: Vec<String>,
    /// How often its test or its merge could not be carried out.
    pub tries: u32,
    /// The name of the session that answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What is to be queued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueWish {
    /// `7`, `!7`, `my-app!7`, a branch, or a session that has one pull request.
    pub pull: String,
    /// The project it is looked for in, if its name does not say that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The head that is meant. If it has moved since, nothing is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
}

/// How urgent something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuePriority {
    /// Higher goes first.
    pub priority: i32,
}

/// Which queue is paused or goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuePause {
    pub project: String,
    /// Why, for whoever looks at it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
