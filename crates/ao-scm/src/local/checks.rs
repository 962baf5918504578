//! What runs checks, as far as pull requests need to know it.

use ao_core::{Commit, ProjectId, PullId};
use ao_ports::TrackerError;
use ao_ports::{CheckRun, LogPart, RunFilter};
use async_trait::async_trait;
use tokio::sync::broadcast;

pub use crate::checks::Job;
use crate::checks::{Runner, RunnerError};

/// Runs checks and keeps what came of them.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Has checks run, and returns their runs at once.
    async fn run(&self, job: Job) -> Result<Vec<CheckRun>, TrackerError>;

    /// Waits until these runs are over. Can be dropped then; they go on.
    async fn finished(&self, runs: &[String]) -> Result<Vec<CheckRun>, TrackerError>;

    /// Ends the runs of a pull request, but those of this head.
    async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>);

    /// Takes back that somebody has asked for these runs: what nobody else has asked for is ended.
    async fn give_up(&self, runs: &[String]);

    async fn get(&self, run: &str) -> Result<Option<CheckRun>, TrackerError>;

    /// Runs of a project, the newest first.
    async fn runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, TrackerError>;

    async fn log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, TrackerError>;

    /// Every run whenever something about it changes.
    fn subscribe(&self) -> broadcast::Receiver<CheckRun>;
}

#[async_trait]
impl Checks for Runner {
    async fn run(&self, job: Job) -> Result<Vec<CheckRun>, TrackerError> {
        Ok(Runner::run(self, job).await?)
    }

    async fn finished(&self, runs: &[String]) -> Result<Vec<CheckRun>, TrackerError> {
        Ok(Runner::finished(self, runs).await)
    }

    async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>) {
        Runner::cancel(self, pull, keep_head).await;
    }

    async fn give_up(&self, runs: &[String]) {
        Runner::give_up(self, runs).await;
    }

    async fn get(&self, run: &str) -> Result<Option<CheckRun>, TrackerError> {
        Ok(Runner::get(self, run).await)
    }

    async fn runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, TrackerError> {
        Ok(Runner::runs(self, project, filter).await?)
    }

    async fn log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, TrackerError> {
        Ok(Runner::log(self, run, from, limit, wait).await?)
    }

    fn subscribe(&self) -> broadcast::Receiver<CheckRun> {
        Runner::subscribe(self)
    }
}

impl From<RunnerError> for TrackerError {
    fn from(err: RunnerError) -> TrackerError {
        match err {
            RunnerError::NoRun { id } => TrackerError::not_found(format!("the run `{id}`")),
            RunnerError::LogGone { .. } | RunnerError::NotAnObject { .. } => {
                TrackerError::refused(err.to_string())
            }
            err => TrackerError::Failed(super::told(&err)),
        }
    }
}
