//! Where an agent works: a worktree, a clone, a volume.

use std::time::Duration;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::session::CheckedOut;
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
    /// It was there before and is used as it is found: nothing is set up in it, and it is never removed.
    pub as_found: bool,
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
    /// Commands that are run in it before it goes, once nothing speaks against its going, and what they find in their
    /// environment.
    pub teardown: Vec<String>,
    pub environment: Environment,
    pub timeout: Duration,
    /// Work that is nowhere else is no reason to keep it: a person throws it away. A rescue ref keeps its last state.
    #[serde(default)]
    pub discard: bool,
}

impl RemoveOrder {
    /// Returns the reasons to keep the workspace by the deletion gate, none if it may go.
    pub fn reasons(&self, facts: &TreeFacts) -> Vec<KeepReason> {
        if self.discard { reasons_against_discard(facts) } else { reasons_to_keep(facts) }
    }
}

/// Work in a workspace that is nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkFound {
    /// Files that differ from the last commit or are in none; the first of them, and how many there are.
    pub files: Vec<String>,
    pub files_in_all: u64,
    /// Commits that nothing else keeps, each with its short id and title, newest first; and how many there are.
    pub commits: Vec<String>,
    pub commits_in_all: u64,
}

/// What is known of one workspace before anything is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surveyed {
    /// The session it was asked for; absent for a folder among ours that none of our records names.
    pub session: Option<SessionId>,
    pub path: String,
    /// What its removal would free. What is linked to elsewhere does not count.
    pub bytes: u64,
    /// The part of it that git ignores: build output, dependencies.
    pub ignored_bytes: u64,
    /// Why it would be kept; empty if it may go.
    pub reasons: Vec<KeepReason>,
}

/// What is to be cleaned of what git ignores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    pub bytes: u64,
    pub paths: u64,
}

/// Where a workspace stands, compared with where it should.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Whereabouts {
    /// What is checked out; absent if nothing could be read.
    pub stand: Option<CheckedOut>,
    /// What is wrong, in words; empty if nothing is.
    pub wrong: Vec<String>,
}

/// A workspace as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// All of it as one commit, on top of its head.
    pub commit: String,
    /// Where the objects are that it shares with its repository.
    pub objects: String,
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

    /// Makes a new workspace ready: included files, links, then the project's own commands, with a log that can be read
    /// while they run. Can be repeated, and then begins anew. [`WorkspaceError::SetupFailed`] if a command fails.
    async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError>;

    /// Ends whatever the set-up of a workspace has left running: a server, a watcher. Done when a session ends, not when
    /// its agent is started anew. Succeeds if there is nothing.
    async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError>;

    /// Says whether the workspace is still what it was made as: its branch checked out, in its own place.
    async fn whereabouts(&self, order: &RemoveOrder) -> Whereabouts;

    /// Takes the workspace as it is now, with what is not committed and not ignored, as a commit. Its new objects go into
    /// the folder `scratch`; neither the workspace nor its repository is changed.
    async fn capture(&self, order: &RemoveOrder, scratch: &str) -> Result<Captured, WorkspaceError> {
        let _ = (order, scratch);
        Err(WorkspaceError::Failed("the workspace is of a kind that cannot be looked into".into()))
    }

    /// Says of each workspace, and of whatever else lies among ours in the repository, how large it is and whether it
    /// could be removed. Changes nothing.
    async fn survey(&self, repository: &str, orders: &[RemoveOrder])
    -> Result<Vec<Surveyed>, WorkspaceError>;

    /// Lists the work in a workspace that is nowhere else: what its removal would throw away. Changes nothing.
    async fn work(&self, order: &RemoveOrder) -> Result<WorkFound, WorkspaceError> {
        let _ = order;
        Err(WorkspaceError::Failed("the workspace is of a kind that cannot be looked into".into()))
    }

    /// Deletes what git ignores in a workspace, and nothing else, if no process works in it. Included files and links
    /// stay.
    async fn clean(&self, order: &RemoveOrder) -> Result<Cleaned, WorkspaceError>;

    /// Forgets the rescue refs of workspaces that were removed before then. Returns how many.
    async fn forget_rescues(&self, repository: &str, before: Timestamp) -> Result<u32, WorkspaceError>;

    /// Finds out what the deletion gate wants to know. What cannot be found out stays `None`.
    async fn inspect(&self, order: &RemoveOrder) -> TreeFacts;

    /// Removes the workspace if [`RemoveOrder::reasons`] has none for facts found out just before.
    ///
    /// There is no other way to remove one, and no fallback: a removal that fails half-way is an error, and a later call
    /// goes on with it. Leaves a rescue ref first.
    async fn remove(&self, order: &RemoveOrder) -> Result<Removal, WorkspaceError>;
}

/// Why a workspace could not be made or removed.
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
