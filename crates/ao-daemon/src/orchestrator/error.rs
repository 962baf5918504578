//! Errors of the orchestrator.

use ao_engine::AskError;
use ao_ports::{RuntimeError, ServiceError, WorkspaceError};

use super::tasks::PlanError;
use crate::looks::LookError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrchestratorError {
    #[error("there is no project `{0}`; name it with `OrchestratorBuilder::project`")]
    NoProject(String),
    #[error("there is no agent `{name}`; there is {known}")]
    NoAgent { name: String, known: String },
    #[error("the project `{0}` has no forge; give it one with `OrchestratorBuilder::scm`")]
    NoScm(String),
    #[error("the session `{0}` is over and was put away")]
    NoSession(String),
    #[error("`{0}` is no git repository")]
    NoRepository(String),
    /// The engine refused the request, or could not record it.
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Forge(#[from] ServiceError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("{0}")]
    Failed(String),
}

impl From<LookError> for OrchestratorError {
    fn from(err: LookError) -> OrchestratorError {
        match err {
            LookError::Service(err) => err.into(),
            LookError::Engine(err) => err.into(),
            LookError::NoForge(why) | LookError::NoTracker(why) => OrchestratorError::Failed(why),
        }
    }
}
