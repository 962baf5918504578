//! The options of a runner, and the jobs that it runs.

use std::sync::Arc;
use std::time::Duration;

use ao_core::{Commit, ProjectId, PullId};
use ao_git::Queues;
use ao_ports::CheckSpec;
use ao_process::Keeper;
use camino::Utf8PathBuf;

#[derive(Debug, Clone)]
pub struct Options {
    /// Folder for checkouts and logs, used by nothing else.
    pub folder: Utf8PathBuf,
    /// Maximum number of concurrent executions, over all projects.
    pub cap: usize,
    /// Maximum size of one log in bytes; its beginning and end are kept.
    pub log_limit: u64,
    /// Maximum size of all logs in bytes. The oldest are deleted first.
    pub logs_limit: u64,
    /// Number of runs kept for each pull request, and for each project's branches together. All runs of the newest
    /// commit are kept, and only those once the pull request is over.
    pub keep_runs: usize,
    /// Number of runs kept for each project. The oldest are deleted first, so an idle pull request may lose its
    /// results, and its checks run again.
    pub keep_project_runs: usize,
    /// Time that a command gets to end before it is killed.
    pub grace: Duration,
    /// Pause before a run is retried when the machine was at fault.
    pub retry_pause: Duration,
    /// Shared with everything that changes repositories.
    pub queues: Arc<Queues>,
    /// Runs the commands. Not the user's own shell: a check has to mean the same on every machine.
    pub shell: Utf8PathBuf,
    /// Adopts the processes that commands start.
    pub keeper: Keeper,
}

impl Options {
    /// Returns the default options.
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

    /// Returns the folder of check logs, which messages to agents name.
    pub fn logs(&self) -> Utf8PathBuf {
        self.folder.join("logs")
    }

    pub(super) fn log(&self, execution: &str) -> Utf8PathBuf {
        self.logs().join(format!("{execution}.log"))
    }
}

/// Checks to be run on one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckJob {
    pub project: ProjectId,
    /// The root of the user's checkout.
    pub repository: Utf8PathBuf,
    /// The git directory that all its worktrees share.
    pub common_dir: Utf8PathBuf,
    pub pull: Option<PullId>,
    /// The commit that the runs report on.
    pub head: Commit,
    /// The commit it was merged onto; absent if it is checked as it is.
    pub base: Option<Commit>,
    /// The tree of `commit`.
    pub tree: String,
    /// The commit that is checked out.
    pub commit: Commit,
    /// Pull requests that are merged first, to test all of them together.
    pub ahead: Vec<PullId>,
    /// The paths that the change touches; absent if unknown, and then no check is skipped.
    pub changed: Option<Vec<String>>,
    pub checks: Vec<CheckSpec>,
    /// Runs even if the same tree has a result already.
    pub again: bool,
}
