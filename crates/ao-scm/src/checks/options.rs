//! What a runner is told at its start, and what it is asked to run.

use std::sync::Arc;
use std::time::Duration;

use ao_core::{Commit, ProjectId, PullId};
use ao_git::Queues;
use ao_ports::CheckSpec;
use ao_process::Keeper;
use camino::Utf8PathBuf;

#[derive(Debug, Clone)]
pub struct Options {
    /// Ours alone: checkouts and logs.
    pub folder: Utf8PathBuf,
    /// How many run at a time, over all projects.
    pub cap: usize,
    /// How many bytes of one log are kept, of its beginning and its end.
    pub log_limit: u64,
    /// How many bytes all logs may have together. The oldest go first.
    pub logs_limit: u64,
    /// How many runs are kept of each pull request, and of each project's branches together. Those of the newest commit
    /// are kept whatever their number is, and only those once the pull request is over.
    pub keep_runs: usize,
    /// How many runs are kept of each project, whatever they are of. The oldest go first, so a pull request that nothing
    /// happens to may lose its results, and has them run anew.
    pub keep_project_runs: usize,
    /// How long a command that is to end may take before it is killed.
    pub grace: Duration,
    /// How long to wait before a run is tried again for which the machine was at fault.
    pub retry_pause: Duration,
    /// Shared with all who change repositories.
    pub queues: Arc<Queues>,
    /// Runs the commands. Not the user's own shell: a check has to mean the same for everybody.
    pub shell: Utf8PathBuf,
    /// Keeps what they start from getting away.
    pub keeper: Keeper,
}

impl Options {
    /// The usual ones.
    pub fn new(folder: impl Into<Utf8PathBuf>, queues: Arc<Queues>) -> Options {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Options {
            folder: folder.into(),
            // Most checks use every core themselves.
            cap: (cores / 2).max(1),
            log_limit: 32 << 20,
            logs_limit: 2 << 30,
            keep_runs: 50,
            keep_project_runs: 5_000,
            grace: Duration::from_secs(5),
            retry_pause: Duration::from_secs(2),
            queues,
            shell: "/bin/sh".into(),
            keeper: Keeper::default(),
        }
    }

    pub(super) fn trees(&self) -> Utf8PathBuf {
        self.folder.join("trees")
    }

    /// The folder of what checks have put out, which messages to agents name.
    pub fn logs(&self) -> Utf8PathBuf {
        self.folder.join("logs")
    }

    pub(super) fn log(&self, execution: &str) -> Utf8PathBuf {
        self.logs().join(format!("{execution}.log"))
    }
}

/// Checks to be run on one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub project: ProjectId,
    /// The root of the user's checkout.
    pub repository: Utf8PathBuf,
    /// The git directory that all its worktrees share.
    pub common_dir: Utf8PathBuf,
    pub pull: Option<PullId>,
    /// The commit that the runs speak of.
    pub head: Commit,
    /// What it was merged onto; absent if it is checked as it is.
    pub base: Option<Commit>,
    /// The tree of `commit`.
    pub tree: String,
    /// What is checked out.
    pub commit: Commit,
    /// Others that are merged first, to try all of them together.
    pub ahead: Vec<PullId>,
    /// The paths that the change touches; absent if nobody knows, and then no check is skipped.
    pub changed: Option<Vec<String>>,
    pub checks: Vec<CheckSpec>,
    /// Also if the same tree has a result already.
    pub again: bool,
}
