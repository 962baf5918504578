//! Workspaces: where an agent works: a worktree, a clone, a volume.

use std::time::Duration;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::session::Stand;
use ao_core::setup::Environment;
use ao_core::workspace::{KeepReason, Tree, TreeFacts, reasons_against_discard, reasons_to_keep};
use ao_core::{Attempt, ProjectId, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// A workspace that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub path: String,
    /// The commit it starts from.
    pub base: String,
    /// It existed before and is used as it is: nothing is set up in it, and it is never removed.
    pub as_found: bool,
}

/// The workspace to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveOrder {
    pub session: SessionId,
    pub project: ProjectId,
    /// The main checkout of the repository.
    pub repository: String,
    /// Absent if creating it failed and its remains are unknown. Then the adapter looks by session.
    pub tree: Option<Tree>,
    pub branch: String,
    /// Commands that run in it before it is removed, once the gate allows the removal, with their environment.
    pub teardown: Vec<String>,
    pub environment: Environment,
    pub timeout: Duration,
    /// Removes it even if it has unsaved work, which a person discards. A rescue ref keeps its last state.
    #[serde(default)]
    pub discard: bool,
}

impl RemoveOrder {
    /// Returns the reasons to keep the workspace by the deletion gate, none if it may go.
    pub fn reasons(&self, facts: &TreeFacts) -> Vec<KeepReason> {
        if self.discard { reasons_against_discard(facts) } else { reasons_to_keep(facts) }
    }
}

/// Unsaved work in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkFound {
    /// Files that differ from the last commit or are in none; the first of them, and their number.
    pub files: Vec<String>,
    pub files_in_all: u64,
    /// Commits that no other ref reaches, each with its short id and title, newest first; and their number.
    pub commits: Vec<String>,
    pub commits_in_all: u64,
}

/// The facts about one workspace before anything is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surveyed {
    /// The session it was asked for; absent for a folder among ours that none of our records names.
    pub session: Option<SessionId>,
    pub path: String,
    /// The bytes that its removal would free. Files that are linked elsewhere do not count.
    pub bytes: u64,
    /// The part of it that git ignores: build output, dependencies.
    pub ignored_bytes: u64,
    /// The reasons to keep it; empty if it may go.
    pub reasons: Vec<KeepReason>,
}

/// The ignored files that were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    pub bytes: u64,
    pub paths: u64,
}

/// The actual state of a workspace, compared with the expected one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Whereabouts {
    /// The commit and branch that are checked out; absent if unreadable.
    pub stand: Option<Stand>,
    /// The differences, as text; empty if there are none.
    pub wrong: Vec<String>,
}

/// A workspace as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// All of it as one commit, on top of its head.
    pub commit: String,
    /// The location of the objects that it shares with its repository.
    pub objects: String,
}

/// The result of a removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// Gone, or was gone already. The rescue ref restores its last state.
    Removed {
        rescue: Option<String>,
    },
    Kept {
        reasons: Vec<KeepReason>,
    },
}

/// A workspace: where an agent works.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Creates the workspace. Idempotent per session: a second call finds the result of the first one, and completes
    /// it if it was interrupted.
    async fn create(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<Made, WorkspaceError>;

    /// Sets up a new workspace: included files, links, then the project's own commands, with a log that can be read
    /// while they run. Can be repeated, and then starts over. [`WorkspaceError::SetupFailed`] if a command fails.
    async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError>;

    /// Ends all programs that the set-up of a workspace has left running: a server, a watcher. Called when a session
    /// ends, not when its agent is restarted. Succeeds if there is nothing.
    async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError>;

    /// Returns whether the workspace is still as it was created: its branch checked out, in its own location.
    async fn whereabouts(&self, order: &RemoveOrder) -> Whereabouts;

    /// Captures the present workspace, including files that are neither committed nor ignored, as a commit. Its new
    /// objects go into the folder `scratch`; neither the workspace nor its repository is changed.
    async fn capture(&self, order: &RemoveOrder, scratch: &str) -> Result<Captured, WorkspaceError> {
        let _ = (order, scratch);
        Err(WorkspaceError::Failed("the workspace is of a kind that cannot be looked into".into()))
    }

    /// Returns the size of each workspace, and of everything else among ours in the repository, and whether it could
    /// be removed. Changes nothing.
    async fn survey(&self, repository: &str, orders: &[RemoveOrder])
    -> Result<Vec<Surveyed>, WorkspaceError>;

    /// Lists the unsaved work in a workspace, which its removal would discard. Changes nothing.
    async fn work(&self, order: &RemoveOrder) -> Result<WorkFound, WorkspaceError> {
        let _ = order;
        Err(WorkspaceError::Failed("the workspace is of a kind that cannot be looked into".into()))
    }

    /// Deletes the files that git ignores in a workspace, and nothing else, if no process works in it. Included files
    /// and links stay.
    async fn clean(&self, order: &RemoveOrder) -> Result<Cleaned, WorkspaceError>;

    /// Deletes the rescue refs of workspaces that were removed before then. Returns their number.
    async fn forget_rescues(&self, repository: &str, before: Timestamp) -> Result<u32, WorkspaceError>;

    /// Gathers the facts for the deletion gate. Unknown facts stay `None`.
    async fn inspect(&self, order: &RemoveOrder) -> TreeFacts;

    /// Removes the workspace if [`RemoveOrder::reasons`] returns none for facts gathered just before.
    ///
    /// There is no other way to remove one, and no fallback: a removal that fails half-way is an error, and a later
    /// call continues it. Leaves a rescue ref first.
    async fn remove(&self, order: &RemoveOrder) -> Result<Removal, WorkspaceError>;
}

/// The reason why a workspace could not be created or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceError {
    #[error(
        "the branch `{branch}` is checked out in `{other}`; work in that worktree as it is, choose another branch, or \
         free this one with `git -C {other} switch --detach`"
    )]
    BranchInUse { branch: String, other: String },
    /// The agent is not to be started.
    #[error("setting it up failed: {why}; the log is `{log}`\n{tail}")]
    SetupFailed { why: String, log: String, tail: String },
    #[error("{0}")]
    Failed(String),
}
