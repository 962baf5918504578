//! What a reaction or a hook has done in the world.

use ao_core::errand::{Errand, ErrandOutcome};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Runs errands.
#[async_trait]
pub trait Errands: Send + Sync {
    /// Does what is ordered. May be called again with the same errand after a crash; each [`ao_core::errand::Order`] says
    /// what makes that harmless. A command that says no is an outcome, not an error.
    async fn run(&self, errand: &Errand) -> Result<ErrandOutcome, ErrandError>;
}

/// Why an errand was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrandError {
    /// Somebody is in the way who will be out of it; nothing was tried.
    #[error("{0}")]
    InTheWay(String),
    /// Another try may help.
    #[error("{0}")]
    Later(String),
    /// No other try will.
    #[error("{0}")]
    Never(String),
}
