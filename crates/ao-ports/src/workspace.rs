//! Where an agent works: a worktree, a clone, a volume.

use ao_core::effect::WorkspacePlan;
use ao_core::workspace::{KeepReason, Tree, TreeFacts};
use ao_core::{Attempt, ProjectId, SessionId};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// A workspace that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub path: String,
    /// The commit it starts from.
    pub base: String,
}

/// What is to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveOrder {
    pub session: SessionId,
    pub project: ProjectId,
    /// The repository's own folder.
    pub repository: String,
    /// Absent if making it failed and it is not known what that left. Then the adapter looks by session.
    pub tree: Option<Tree>,
    pub branch: String,
}

/// What became of a removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// Gone, or was gone already. The rescue ref brings its last state back.
    Removed {
        rescue: Option<String>,
    },
    Kept {
        reasons: Vec<KeepReason>,
    },
}

/// Where an agent works.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Makes the workspace and makes it ready. Idempotent per session: a second call finds what the first one made, and
    /// finishes it if it was cut off.
    async fn create(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<Made, WorkspaceError>;

    /// Finds out what the deletion gate wants to know. What cannot be found out stays `None`.
    async fn inspect(&self, order: &RemoveOrder) -> TreeFacts;

    /// Removes the workspace if [`ao_core::workspace::reasons_to_keep`] has none for facts found out just before.
    ///
    /// There is no other way to remove one, and no fallback: a removal that fails half-way is an error, and a later call
    /// goes on with it. Leaves a rescue ref first.
    async fn remove(&self, order: &RemoveOrder) -> Result<Removal, WorkspaceError>;
}

/// Why a workspace could not be made or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceError {
    #[error("the branch `{branch}` is checked out in `{other}`; choose another branch, or free that one")]
    BranchInUse { branch: String, other: String },
    #[error("{0}")]
    Failed(String),
}
