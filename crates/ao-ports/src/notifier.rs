//! Telling people.

use std::time::Duration;

use ao_core::notice::Notice;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// What a notifier declares it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NotifierAbilities {
    /// Can show buttons whose answer comes back.
    pub buttons: bool,
    /// Drops a second notice with the same key by itself. Where all that have a notice do so, it is tried again for those
    /// that have failed; where not, one that has it must be enough.
    pub dedupes: bool,
}

/// Tells a person something, on one channel.
#[async_trait]
pub trait Notifier: Send + Sync {
    fn abilities(&self) -> NotifierAbilities;

    /// Hands the notice to the channel. May be called again with the same notice after a crash, and then sends it
    /// again unless it can tell: better twice than never. A channel for which the notice is not meant is content with it.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// Why a notice did not get through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyError {
    /// The notice is not tried again before.
    #[error("the channel asks to wait {} s", .0.as_secs())]
    Later(Duration),
    #[error("{0}")]
    Failed(String),
}
