//! Why a call came to nothing.

use std::io;
use std::time::Duration;

use crate::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there, or we may not talk to who does.
    #[error("no daemon answers at {place}")]
    Unreachable {
        place: String,
        #[source]
        err: io::Error,
    },
    /// The daemon said no, and why.
    #[error(transparent)]
    Refused(Box<Problem>),
    /// Somebody listens there, and has not answered the simplest question either.
    #[error("the daemon at {place} has not answered for {} s", .waited.as_secs())]
    Hung {
        place: String,
        /// The process that listens there, where the system tells.
        pid: Option<u32>,
        waited: Duration,
    },
    #[error("the connection to the daemon broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the daemon's answer makes no sense; is it of another version?")]
    Strange(#[source] serde_json::Error),
    #[error("`{path}` cannot be called")]
    BadCall {
        path: String,
        #[source]
        err: hyper::http::Error,
    },
}

impl ClientError {
    /// Whether this only means that no daemon runs. One who may not be called is there all the same.
    pub fn is_absence(&self) -> bool {
        let ClientError::Unreachable { err, .. } = self else { return false };
        matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
    }
}
