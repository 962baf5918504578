//! Projects: the repositories that the daemon serves.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Projects {
    pub projects: Vec<Project>,
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    pub id: String,
    pub path: String,
    pub default_branch: String,
    /// `owner/name` at its forge, if it has one.
    pub repo: Option<String>,
    /// The configuration file that names it; absent once it is no longer named but still has sessions.
    pub config: Option<String>,
    pub agent: String,
    pub runtime: String,
    pub workspace: String,
    pub live_sessions: u32,
    pub max_parallel_agents: Option<u32>,
    /// `true` if its issues are given to agents without a person's request.
    #[serde(default)]
    pub auto_assign: bool,
    /// The person who stopped all its work. While it is set, none of its issues is started without a person's request.
    pub stopped_by: Option<String>,
}

/// The trust of the daemon's git in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryTrust {
    pub project: String,
    /// The settings that name programs which git may run, such as `filter.lfs.process = git-lfs filter-process`. They
    /// were there when the project was added, or were confirmed since.
    pub programs: Vec<String>,
    /// Descriptions of changes that wait for a person's confirmation.
    pub waiting: Vec<String>,
}

/// Changes to a repository that were not made by a landing, push or fetch, and are confirmed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmedChanges {
    pub project: String,
    /// A description of each: the setting, its old and new value, and the agents that were running. Empty if there were
    /// none.
    pub changes: Vec<String>,
}

/// A project to add: a folder with a configuration file, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewProject {
    /// The configuration file that names the project.
    pub config: String,
}
