//! Errors of the client.

use std::io;
use std::time::Duration;

use crate::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address has no listener, or access to it is denied.
    #[error("no daemon answers at {place}")]
    Unreachable {
        place: String,
        #[source]
        err: io::Error,
    },
    /// The daemon responded with an error.
    #[error(transparent)]
    Refused(Box<Problem>),
    /// The address has a listener, but that does not answer `/healthz` either.
    #[error("the daemon at {place} has not answered for {} s", .waited.as_secs())]
    Hung {
        place: String,
        /// The process that listens there, if the system reports it.
        pid: Option<u32>,
        waited: Duration,
    },
    #[error("the connection to the daemon broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the daemon's answer cannot be read; is it another version?")]
    Unreadable(#[source] serde_json::Error),
    #[error("`{path}` cannot be called")]
    BadCall {
        path: String,
        #[source]
        err: hyper::http::Error,
    },
}

impl ClientError {
    /// Returns `true` if no daemon is running. A daemon to which access is denied is running.
    pub fn is_absence(&self) -> bool {
        let ClientError::Unreachable { err, .. } = self else { return false };
        matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
    }
}
