//! Opens a terminal window on a session, in the program that the person prefers.

use ao_core::SessionId;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// The session to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenOrder {
    pub session: SessionId,
    pub title: String,
    /// The command that attaches to the session.
    pub attach: Vec<String>,
}

/// Opens a window on a session.
#[async_trait]
pub trait Terminal: Send + Sync {
    /// Opens a window, or brings the open one to the front.
    async fn open(&self, order: &OpenOrder) -> Result<(), TerminalError>;
}

/// The reason why no window could be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalError {
    #[error("there is no desktop to open a window on; attach with `{attach}`")]
    NoDesktop { attach: String },
    #[error("{0}")]
    Failed(String),
}
