//! Retries calls that create something while the daemon is being replaced.
//!
//! If the response is lost, the call may or may not have been carried out. So it carries a unique key, by which the
//! daemon recognises it and does not do it twice; idempotent calls need none.

use std::time::Duration;

use ao_api::client::ClientError;
use tokio::time::{Instant, sleep};

use crate::client::event_watch::{AWAY, is_away};

/// Pause between two attempts to reach a daemon that is being replaced.
pub(crate) const KNOCK: Duration = Duration::from_millis(300);

/// Returns a unique key.
pub(crate) fn key() -> String {
    format!("cli-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// The attempts of one command to make a call.
#[derive(Debug, Default)]
pub(crate) struct CallRetry {
    /// The deadline; by default some seconds after the daemon was first away.
    until: Option<Instant>,
    /// The daemon was reached at least once.
    reached: bool,
}

impl CallRetry {
    pub(crate) fn until(end: Instant) -> CallRetry {
        CallRetry { until: Some(end), reached: false }
    }

    /// Makes a call until it is answered.
    pub(crate) async fn call<T>(
        &mut self,
        mut call: impl AsyncFnMut() -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        loop {
            match call().await {
                Ok(answer) => {
                    self.answered();
                    return Ok(answer);
                }
                Err(err) => self.again(err).await?,
            }
        }
    }

    pub(crate) fn answered(&mut self) {
        self.reached = true;
    }

    /// Waits for a moment if a failed call should be retried; otherwise returns the error.
    pub(crate) async fn again(&mut self, err: ClientError) -> Result<(), ClientError> {
        // If no daemon was ever reached, none has received the call; report that at once.
        let nobody = matches!(err, ClientError::Unreachable { .. }) && !self.reached;
        let until = *self.until.get_or_insert_with(|| Instant::now() + AWAY);
        if nobody || !is_away(&err) || Instant::now() >= until {
            return Err(err);
        }
        self.reached = true;
        sleep(KNOCK).await;
        Ok(())
    }
}
