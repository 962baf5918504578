//! What runs checks, as far as pull requests need to know it.

use ao_core::{Commit, ProjectId, PullId};
use ao_ports::TrackerError;
use ao_ports::{CheckRun, CheckSpec, LogPart, RunFilter};
use async_trait::async_trait;
use camino::Utf8PathBuf;
use tokio::sync::broadcast;

/// Something to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub project: ProjectId,
    /// The user's checkout.
    pub repository: Utf8PathBuf,
    /// The git directory that all its worktrees share, by which its queue is known.
    pub common_dir: Utf8PathBuf,
    pub pull: Option<PullId>,
    /// The commit that the result speaks of.
    pub head: Commit,
    /// What it is merged onto; absent if it is checked as it is.
    pub base: Option<Commit>,
    /// The tree to be checked.
    pub tree: String,
    /// A commit with that tree. The same order has the same commit.
    pub commit: Commit,
    /// The files that the change touches; absent if that is not known, and then every check is for it.
    pub changed: Option<Vec<String>>,
    pub checks: Vec<CheckSpec>,
    /// Also if the same tree has a result already.
    pub again: bool,
}

/// Runs checks and keeps what came of them.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Has checks run, and returns their runs at once.
    async fn run(&self, job: Job) -> Result<Vec<CheckRun>, TrackerError>;

    /// Waits until these runs are over. Can be dropped then; they go on.
    async fn finished(&self, runs: &[String]) -> Result<Vec<CheckRun>, TrackerError>;

    /// Ends the runs of a pull request, but those of this head.
    async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>);

    async fn get(&self, run: &str) -> Result<Option<CheckRun>, TrackerError>;

    /// Runs of a project, the newest first.
    async fn runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, TrackerError>;

    async fn log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, TrackerError>;

    /// Every run whenever something about it changes.
    fn subscribe(&self) -> broadcast::Receiver<CheckRun>;
}
