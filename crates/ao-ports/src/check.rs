//! Checks: commands that say whether a change works, what came of them, and what their output says went wrong.

use std::time::Duration;

use ao_core::setup::Environment;
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use serde::{Deserialize, Serialize};

/// A check as its project wants it run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSpec {
    pub name: String,
    /// Run by the shell, at the root of a clean checkout.
    pub command: String,
    pub timeout: Duration,
    /// Patterns of paths. If there are any and the change touches none of them, the check is skipped.
    pub paths: Vec<String>,
    /// Nothing merges before it has passed.
    pub required: bool,
    pub environment: Environment,
    /// How often it is run again when the machine and not the change is at fault.
    pub retries: u32,
}

/// Where a run of a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Running,
    Passed,
    Failed,
    /// Not run, because the change touches none of its paths.
    Skipped,
    /// Ended before it was done, because its commit is no longer the one that matters, or somebody wanted so.
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
    /// Its name for ever: `run_1f`.
    pub id: String,
    pub project: ProjectId,
    pub pull: Option<PullId>,
    pub check: String,
    pub command: String,
    pub required: bool,
    /// The commit that it speaks of.
    pub head: Commit,
    /// What that was merged onto; absent if it was checked as it is.
    pub base: Option<Commit>,
    /// The tree that was really checked.
    pub tree: String,
    /// Others of the merge queue that were merged first. Then it says whether all of them go together, and nothing about
    /// the pull request alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<PullId>,
    pub state: RunState,
    /// Why, if the state alone does not tell: a conflict, a time limit, an exit code.
    pub why: Option<String>,
    pub exit_code: Option<i32>,
    pub queued_at: Timestamp,
    pub began_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// How many times the command was started for it.
    pub tries: u32,
    /// It was not run: this run, of the same tree and command, speaks for it.
    pub same_as: Option<String>,
    /// Where its whole output is.
    pub log: Option<String>,
    pub failure: Option<Failure>,
}

/// What the output of a failed check says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failure {
    /// Tells this failure from another one of the same check: the same problem has the same signature on another commit,
    /// another machine and another day.
    pub signature: String,
    /// The step that failed, where the output tells.
    pub step: Option<String>,
    /// The lines that matter, bounded.
    pub excerpt: String,
    /// What failed one by one, the first of them, bounded.
    pub items: Vec<FailureItem>,
    /// How many there were in all.
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

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckWhat {
    /// A pull request, merged onto its base.
    Pull(PullId),
    /// A branch or a commit as it is.
    Revision(String),
}

/// A wish for checks to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOrder {
    pub project: ProjectId,
    pub what: CheckWhat,
    /// The names of those to be run; all, if empty.
    pub checks: Vec<String>,
    /// Also if the same tree has a result already.
    pub again: bool,
}

/// Which runs are wanted, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunFilter {
    /// Those of this project only; a forge may keep those of several.
    pub project: Option<ProjectId>,
    pub pull: Option<PullId>,
    pub check: Option<String>,
    pub state: Option<RunState>,
    /// Only those that speak of the pull request alone, without others ahead of it.
    pub alone: bool,
    pub limit: usize,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPart {
    pub bytes: Vec<u8>,
    /// Where to go on.
    pub next: u64,
    /// Nothing more will come.
    pub ended: bool,
}
