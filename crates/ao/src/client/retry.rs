//! Calls that make something, made again when the daemon goes away meanwhile.
//!
//! Whether a call was taken cannot be known when its answer is lost. So it carries a mark of its own, by which the daemon knows
//! it again and does not do it twice; calls that come to the same however often they are made need none.

use std::time::Duration;

use ao_api::client::ClientError;
use tokio::time::{Instant, sleep};

use crate::client::event_watch::{AWAY, is_away};

/// Between two tries to reach a daemon that is being replaced.
pub(crate) const KNOCK: Duration = Duration::from_millis(300);

/// A mark that nobody else has.
pub(crate) fn key() -> String {
    format!("cli-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// The tries of one command to have something done.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    /// When it is given up; if that is not said, some seconds after the daemon was first away.
    until: Option<Instant>,
    /// Somebody was there.
    reached: bool,
}

impl Tries {
    pub(crate) fn until(end: Instant) -> Tries {
        Tries { until: Some(end), reached: false }
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

    /// Waits for a moment, if the call that failed so is to be made again. Otherwise this is what is wrong.
    pub(crate) async fn again(&mut self, err: ClientError) -> Result<(), ClientError> {
        // Nobody to be reached at all has not got it; that is said at once.
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
