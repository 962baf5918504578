//! The places where agents work: a worktree, a clone, a volume.

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::order::RemoveOrder;
use ao_core::session::CheckedOut;
use ao_core::workspace::{KeepReason, TreeFacts, TreeRef};
use ao_core::{Attempt, Commit, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// A workspace that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedWorkspace {
    pub path: String,
    /// The commit it starts from.
    pub base: String,
    /// It existed before and is used as it is: nothing is set up in it, and it is never removed.
    pub as_found: bool,
}

/// An order to rebase a branch, pinned to the commits at which both sides were seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebaseOrder {
    pub tree: TreeRef,
    pub branch: String,
    pub head: Commit,
    /// A commit of the repository.
    pub base: Commit,
}

/// The outcome of a rebase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RebaseOutcome {
    /// Rebased. `pushed` if the branch was moved along where it was pushed to.
    Rebased { head: Commit, pushed: bool },
    /// The branch has all of the base.
    UpToDate,
    /// The branch has moved, or is no longer checked out there.
    Moved,
    /// An operation is in progress; a later try may succeed.
    Busy { why: String },
    /// Nothing has changed.
    Conflict { files: Vec<String> },
}

/// Unsaved work in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkFound {
    /// The first files that differ from the last commit or are in none, and their total number.
    pub files: Vec<String>,
    pub files_in_all: u64,
    /// The newest commits that nothing else keeps, each with its short id and title, and their total number.
    pub commits: Vec<String>,
    pub commits_in_all: u64,
}

/// The size of a workspace, and the reasons to keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSurvey {
    /// Absent for a folder among ours that none of our records names.
    pub session: Option<SessionId>,
    pub path: String,
    /// Bytes that its removal would free, without those that are linked to elsewhere.
    pub bytes: u64,
    /// The part of it that git ignores: build output, dependencies.
    pub ignored_bytes: u64,
    /// The reasons to keep it; none if it may be removed.
    pub reasons: Vec<KeepReason>,
    /// The reasons that remain if a person discards its work.
    pub reasons_against_discard: Vec<KeepReason>,
}

/// The ignored files that were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanedFiles {
    pub bytes: u64,
    pub paths: u64,
}

/// The state of a workspace, compared with what was created.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspaceDrift {
    /// The branch and commit that are checked out; absent if nothing could be read.
    pub stand: Option<CheckedOut>,
    /// The differences, as text; empty if there are none.
    pub wrong: Vec<String>,
}

/// A workspace as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedWorkspace {
    /// All of it as one commit, on top of its head.
    pub commit: Commit,
    /// A thin git pack of the objects of that commit that its repository lacks; empty if the repository has all of them.
    pub pack: Vec<u8>,
}

/// The outcome of a removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovalOutcome {
    /// Gone, or was gone already. The rescue ref restores its last state.
    Removed { rescue: Option<String> },
    /// It stays, for these reasons.
    Kept { reasons: Vec<KeepReason> },
}

/// A kind of place where agents work.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Returns true if it can check out a commit for reading only ([`Origin::Read`](ao_core::setup::Origin)).
    fn can_read_only(&self) -> bool {
        false
    }

    /// Creates the workspace. Idempotent per session: a second call finds what the first one created, and completes it if it
    /// was cut off.
    async fn create(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, WorkspaceError>;

    /// Sets a new workspace up: included files, links, then the project's own commands, with a log that can be read while
    /// they run. Can be repeated, and then begins anew. [`WorkspaceError::SetupFailed`] if a command fails.
    async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError>;

    /// Lets a session work in a workspace that was created without one, under an id of its maker. At most one at a time:
    /// for the session it is a workspace that someone else created ([`Origin::Tree`](ao_core::setup::Origin)). Only its
    /// maker removes it.
    async fn lend(&self, repository: &str, maker: SessionId, path: &str) -> Result<(), WorkspaceError> {
        let _ = (repository, maker, path);
        Err(WorkspaceError::Unsupported("workspaces of this kind cannot be lent".into()))
    }

    /// Ends all processes that the set-up of a workspace has left running: a server, a watcher. Called when a session ends,
    /// not when its agent is started again. Succeeds if there are none.
    async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError>;

    /// Compares the workspace with what was created: its branch checked out, at its own path.
    async fn whereabouts(&self, tree: &TreeRef) -> WorkspaceDrift;

    /// Captures the workspace as it is now, with changes that are neither committed nor ignored, as a commit. Changes
    /// neither the workspace nor its repository. The same files give the same commit.
    async fn capture(&self, tree: &TreeRef) -> Result<CapturedWorkspace, WorkspaceError> {
        let _ = tree;
        Err(WorkspaceError::Unsupported("workspaces of this kind cannot be captured".into()))
    }

    /// Rebases the branch that is checked out in the workspace, and moves it along where it was pushed to. A rescue ref
    /// keeps the old branch, and everything is left as it was unless all of it succeeds.
    ///
    /// Idempotent: a second call finds another head, or nothing left to do.
    async fn rebase(&self, order: &RebaseOrder) -> Result<RebaseOutcome, WorkspaceError> {
        let _ = order;
        Err(WorkspaceError::Unsupported("branches cannot be rebased in workspaces of this kind".into()))
    }

    /// Returns the size of each workspace, and of everything else among ours in the repository, with the reasons to keep
    /// it. Changes nothing.
    async fn survey(
        &self,
        repository: &str,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, WorkspaceError>;

    /// Lists the work in a workspace that is nowhere else, and that its removal would lose. Changes nothing.
    async fn work(&self, tree: &TreeRef) -> Result<WorkFound, WorkspaceError> {
        let _ = tree;
        Err(WorkspaceError::Unsupported("workspaces of this kind cannot be examined".into()))
    }

    /// Deletes the files that git ignores in a workspace, and nothing else, if no process works in it. Included files
    /// and links stay.
    async fn clean(&self, tree: &TreeRef) -> Result<CleanedFiles, WorkspaceError>;

    /// Deletes the rescue refs of workspaces that were removed before then. Returns their number.
    async fn forget_rescues(&self, repository: &str, before: Timestamp) -> Result<u32, WorkspaceError>;

    /// Finds the facts for the deletion gate. Unknown facts stay `None`.
    async fn inspect(&self, tree: &TreeRef) -> TreeFacts;

    /// Removes the workspace if [`RemoveOrder::reasons`] returns none for facts gathered just before.
    ///
    /// There is no other way to remove one, and no fallback: a removal that fails half-way is an error, and a later
    /// call continues it. Leaves a rescue ref first.
    async fn remove(&self, order: &RemoveOrder) -> Result<RemovalOutcome, WorkspaceError>;
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
    #[error("setting it up failed: {why}{}\n{tail}", .log.as_ref().map_or_else(String::new, |log| format!("; the log is `{log}`")))]
    SetupFailed {
        why: String,
        /// The whole log, if it is a file of this machine.
        log: Option<String>,
        tail: String,
    },
    /// No workspace of this kind can do it, so no other try helps.
    #[error("{0}")]
    Unsupported(String),
    #[error("{0}")]
    Failed(String),
}
