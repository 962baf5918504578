//! Telling people.

use std::time::Duration;

use ao_core::Timestamp;
use ao_core::notice::{Hold, Notice};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// What a notifier declares it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NotifierAbilities {
    /// Can show buttons whose answer comes back.
    pub buttons: bool,
    /// Drops a second notice with the same key by itself, such as one that is told again after a crash.
    pub dedupes: bool,
}

/// Tells a person something, on one channel.
#[async_trait]
pub trait Notifier: Send + Sync {
    fn abilities(&self) -> NotifierAbilities;

    /// Whether the notice is meant for this channel.
    fn takes(&self, _notice: &Notice) -> bool {
        true
    }

    /// Hands the notice to the channel. May be called again with the same notice after a crash, and then sends it
    /// again unless it can tell: better twice than never.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// Why a notice did not get through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyError {
    /// The notice is not tried again before.
    #[error("the channel asks to wait {} s", .0.as_secs())]
    Later(Duration),
    /// It takes the notice then, and not before. That is no failure, and no try.
    #[error("the channel takes it at {until}")]
    Held { until: Timestamp, hold: Hold },
    #[error("{0}")]
    Failed(String),
}
