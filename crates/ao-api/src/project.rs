//! Projects: the repositories under our care.

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
    /// The configuration file that names it; absent once that no longer does, while sessions of it are left.
    pub config: Option<String>,
    pub agent: String,
    pub runtime: String,
    pub workspace: String,
    pub live_sessions: u32,
    pub max_parallel_agents: Option<u32>,
    /// Whether its issues are given to agents without a person's word.
    #[serde(default)]
    pub auto_assign: bool,
    /// Who has stopped all its work. While this is there, none of its issues is begun without a person's word.
    #[serde(default)]
    pub stopped_by: Option<String>,
}

/// A repository as the daemon's git trusts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryTrust {
    pub project: String,
    /// The settings that name programs which git may run, such as `filter.lfs.process = git-lfs filter-process`. They were there when
    /// the project was added, or were confirmed since.
    pub programs: Vec<String>,
    /// Changes that wait for a person's word, in words.
    pub waiting: Vec<String>,
}

/// What was changed in a repository, not by a landing, push or fetch, and is confirmed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmedChanges {
    pub project: String,
    /// Each in words: what, from where to where, and who was at work then. Empty if nothing waited for it.
    pub changes: Vec<String>,
}

/// A repository to take care of: a folder with a configuration file, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewProject {
    /// The configuration file that names the project.
    pub config: String,
}
