//! Where changes are reviewed, checked and merged.

use ao_core::pull::PullFacts;
use ao_core::{Commit, ProjectId, PullId, SessionId};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::tracker::{Hint, Quota, TrackerError, Webhook};

/// What a forge declares it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScmAbilities {
    pub pushes: bool,
    pub drafts: bool,
    pub threads: bool,
    /// Can merge only if the head is still the one that was judged. Without it, we do not merge there.
    pub pinned_merge: bool,
    pub reruns: bool,
}

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPull {
    pub project: ProjectId,
    pub session: Option<SessionId>,
    pub head_branch: String,
    pub base_branch: String,
    pub title: String,
    pub body: String,
    pub draft: bool,
}

/// How a change lands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    Squash,
    Merge,
    Rebase,
}

/// What is to be tested: the tree that would land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOrder {
    pub pull: PullId,
    pub head: Commit,
    pub base: Commit,
}

/// What the test of a merge showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    Green { tree: String },
    Red { output: String },
    Conflict { files: Vec<String> },
}

/// What is to be merged, pinned to what was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeOrder {
    pub pull: PullId,
    pub head: Commit,
    pub base: Commit,
    pub tree: String,
    pub strategy: Strategy,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeOutcome {
    Merged {
        commit: Commit,
    },
    /// Head or base is no longer what was tested, or the forge's own rules forbid it. Nothing has changed.
    Refused {
        /// Where the base is instead, if that is why.
        tip: Option<Commit>,
        why: String,
    },
}

/// An answer in a review thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReply {
    pub pull: PullId,
    pub thread: String,
    pub text: String,
    pub resolve: bool,
    /// Marks it as ours: a repeated call leaves one reply, and reading it back wakes nobody.
    pub key: String,
}

/// Where changes are reviewed, checked and merged.
#[async_trait]
pub trait Scm: Send + Sync {
    fn abilities(&self) -> ScmAbilities;

    /// Opens a pull request, or returns the one that is open for this head and base.
    async fn open(&self, new: &NewPull) -> Result<PullId, TrackerError>;

    /// The facts about several pull requests in as few calls as the forge allows. Those not found are left out.
    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, TrackerError>;

    /// The open pull requests of a project.
    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, TrackerError>;

    /// Runs the required checks on what would land. Can be called again; equal orders may share one result.
    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError>;

    /// Merges exactly what was tested, or refuses. Called again after a crash, it finds the merge it made.
    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError>;

    /// Asks for a check to be run again on a commit.
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), TrackerError>;

    /// Answers in a thread.
    async fn reply(&self, reply: &ThreadReply) -> Result<(), TrackerError>;

    /// Checks a webhook's signature and says what to ask about.
    async fn webhook(&self, webhook: &Webhook) -> Result<Vec<Hint>, TrackerError>;

    /// What the last answers told about our quota.
    fn quota(&self) -> Option<Quota>;
}

/// Why a merge could not be tested or made. Nothing is known about the change itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScmError {
    #[error(transparent)]
    Forge(#[from] TrackerError),
    #[error("{0}")]
    Failed(String),
}
