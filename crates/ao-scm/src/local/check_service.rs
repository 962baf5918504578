//! The interface to the check runner, as far as pull requests need it.

use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{CheckRun, LogPart, RunFilter, ScmError};
use async_trait::async_trait;
use tokio::sync::broadcast;

pub use crate::checks::CheckJob;
use crate::checks::{Runner, RunnerError};

/// Runs checks and keeps their results.
#[async_trait]
pub trait CheckService: Send + Sync {
    /// Starts checks, and returns their runs at once.
    async fn run(&self, job: CheckJob) -> Result<Vec<CheckRun>, ScmError>;

    /// Waits until these runs are over. Can be dropped; the runs go on.
    async fn finished(&self, runs: &[String]) -> Result<Vec<CheckRun>, ScmError>;

    /// Cancels the runs of a pull request, except those of this head.
    async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>);

    /// Withdraws a request for these runs; runs without another request are cancelled.
    async fn give_up(&self, runs: &[String]);

    async fn get(&self, run: &str) -> Result<Option<CheckRun>, ScmError>;

    /// Returns runs of a project, the newest first.
    async fn runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError>;

    async fn log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError>;

    /// Subscribes to every change of a run.
    fn subscribe(&self) -> broadcast::Receiver<CheckRun>;
}

#[async_trait]
impl CheckService for Runner {
    async fn run(&self, job: CheckJob) -> Result<Vec<CheckRun>, ScmError> {
        Ok(Runner::run(self, job).await?)
    }

    async fn finished(&self, runs: &[String]) -> Result<Vec<CheckRun>, ScmError> {
        Ok(Runner::finished(self, runs).await)
    }

    async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>) {
        Runner::cancel(self, pull, keep_head).await;
    }

    async fn give_up(&self, runs: &[String]) {
        Runner::give_up(self, runs).await;
    }

    async fn get(&self, run: &str) -> Result<Option<CheckRun>, ScmError> {
        Ok(Runner::get(self, run).await)
    }

    async fn runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        Ok(Runner::runs(self, project, filter).await?)
    }

    async fn log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError> {
        Ok(Runner::log(self, run, from, limit, wait).await?)
    }

    fn subscribe(&self) -> broadcast::Receiver<CheckRun> {
        Runner::subscribe(self)
    }
}

impl From<RunnerError> for ScmError {
    fn from(err: RunnerError) -> ScmError {
        match err {
            RunnerError::NoRun { id } => ScmError::not_found(format!("the run `{id}`")),
            RunnerError::LogGone { .. } | RunnerError::NotAnObject { .. } => {
                ScmError::refused(err.to_string())
            }
            err => ScmError::Failed(super::error_chain(&err)),
        }
    }
}
