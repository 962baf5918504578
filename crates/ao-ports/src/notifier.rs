//! Notifiers, which send notices to people.

use std::time::Duration;

use ao_core::Timestamp;
use ao_core::notice::{Notice, NoticeHold};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Sends notices to a person, on one channel.
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Returns whether the notice is meant for this channel.
    fn takes(&self, _notice: &Notice) -> bool {
        true
    }

    /// Sends the notice on the channel. May be called again with the same notice after a crash, and then sends it
    /// again unless it can detect that: better twice than never.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// The reason why a notice was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyError {
    /// The notice is not retried before.
    #[error("the channel asks to wait {} s", .0.as_secs())]
    Later(Duration),
    /// The channel takes the notice then, and not before. Neither a failure nor a try.
    #[error("the channel takes it at {until}")]
    Held { until: Timestamp, hold: NoticeHold },
    #[error("{0}")]
    Failed(String),
}
