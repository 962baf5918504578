//! Jobs that reactions and hooks run.

use std::time::Duration;

use ao_core::job::{Job, JobOutcome};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Runs jobs.
#[async_trait]
pub trait JobRunner: Send + Sync {
    /// Runs a job. May be called again with the same job after a crash; each [`ao_core::job::JobOrder`] documents why
    /// that is harmless. A command that fails is an outcome, not an error.
    async fn run(&self, job: &Job) -> Result<JobOutcome, JobError>;
}

/// The reason why a job was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobError {
    /// The resource is busy and will become free; nothing was tried.
    #[error("{0}")]
    InTheWay(String),
    /// Another try may help.
    #[error("{0}")]
    Later(String),
    /// A service is to be left alone for this time; another try may help after it.
    #[error("{why}")]
    Limited { why: String, after: Duration },
    /// No other try will help.
    #[error("{0}")]
    Never(String),
}
