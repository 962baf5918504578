//! Checks: commands that test a change, their results, and the failures found in their output.

use std::time::Duration;

use ao_core::setup::Environment;
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::scm::ScmError;

/// The configuration of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSpec {
    pub name: String,
    /// Run by the shell, at the root of a clean checkout.
    pub command: String,
    pub timeout: Duration,
    /// Path patterns. If there are any and the change touches none of them, the check is skipped.
    pub paths: Vec<String>,
    /// Nothing merges before it has passed.
    pub required: bool,
    pub environment: Environment,
    /// The number of retries if the machine and not the change is at fault.
    pub retries: u32,
}

/// The state of a run of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Running,
    Passed,
    Failed,
    /// Not run, because the change touches none of its paths.
    Skipped,
    /// Ended early, because its commit is no longer current, or on request.
    Cancelled,
    /// It could not be run: the machine and not the change is at fault.
    Broken,
}

impl RunState {
    pub fn is_over(self) -> bool {
        !matches!(self, RunState::Queued | RunState::Running)
    }
}

/// One run of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// Its permanent id: `run_1f`.
    pub id: String,
    pub project: ProjectId,
    pub pull: Option<PullId>,
    pub check: String,
    pub command: String,
    pub required: bool,
    /// The commit that it is about.
    pub head: Commit,
    /// The commit it was merged onto; absent if it was checked as it is.
    pub base: Option<Commit>,
    /// The tree that was actually checked.
    pub tree: String,
    /// Entries of the merge queue that were merged first. The result is then about all of them together, and not
    /// about the pull request alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<PullId>,
    pub state: RunState,
    /// The reason, if the state alone does not explain it: a conflict, a time limit, an exit code.
    pub why: Option<String>,
    pub exit_code: Option<i32>,
    pub queued_at: Timestamp,
    pub began_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// The number of times the command was started for it.
    pub tries: u32,
    /// It was not run: this run, of the same tree and command, stands for it.
    pub same_as: Option<String>,
    /// The location of its whole output.
    pub log: Option<String>,
    pub failure: Option<FailureReport>,
}

/// The failure found in the output of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FailureReport {
    /// Distinguishes this failure from others of the same check: the same problem has the same signature on another
    /// commit, another machine and another day.
    pub signature: String,
    /// The step that failed, if the output reveals it.
    pub step: Option<String>,
    /// The relevant lines, bounded.
    pub excerpt: String,
    /// The first individual failures, bounded.
    pub items: Vec<FailureItem>,
    /// The number of failures in all.
    pub count: u32,
}

/// One failing test, or one error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureItem {
    pub kind: FailureKind,
    /// The test's name, or the error's code.
    pub name: Option<String>,
    pub message: String,
    pub path: Option<String>,
    pub line: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Test,
    Error,
}

/// The thing to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckWhat {
    /// A pull request, merged onto its base.
    Pull(PullId),
    /// A branch or a commit as it is.
    Revision(String),
}

/// A request to run checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOrder {
    pub project: ProjectId,
    pub what: CheckWhat,
    /// The names of the checks to run; all if empty.
    pub checks: Vec<String>,
    /// Runs them even if the same tree has a result already.
    pub again: bool,
}

/// A filter of runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunFilter {
    /// Only those of this project; a forge may keep those of several.
    pub project: Option<ProjectId>,
    pub pull: Option<PullId>,
    pub check: Option<String>,
    pub state: Option<RunState>,
    /// Only those about the pull request alone, without others ahead of it.
    pub alone: bool,
    pub limit: usize,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPart {
    pub bytes: Vec<u8>,
    /// The offset of the next part.
    pub next: u64,
    /// Nothing more will come.
    pub ended: bool,
}

/// The checks of a forge that runs them itself.
#[async_trait]
pub trait ScmChecks: Send + Sync {
    /// Requests another run of a check on a commit.
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), ScmError>;

    /// Returns runs of checks, the newest first.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError>;

    /// Returns one run of a check, by its id.
    async fn run(&self, run: &str) -> Result<CheckRun, ScmError> {
        let all = self.runs(&RunFilter { limit: usize::MAX, ..RunFilter::default() }).await?;
        let known = all.into_iter().find(|known| known.id == run);
        known.ok_or_else(|| ScmError::not_found(format!("the run `{run}`")))
    }

    /// Starts checks, and returns their runs at once, most of them not finished yet.
    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError>;

    /// Returns a part of the output of a run. With `wait`, waits until there is some, or none will come; can be
    /// dropped then.
    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError>;
}
