//! Errors of a call.

use std::io;
use std::time::Duration;

use crate::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No process listens there, or this user may not connect to it.
    #[error("no daemon answers at {address}")]
    Unreachable {
        address: String,
        #[source]
        err: io::Error,
    },
    /// The daemon refused the call.
    #[error(transparent)]
    Refused(Box<Problem>),
    /// A process listens there and does not answer `/healthz` either.
    #[error("the daemon at {address} has not answered for {} s", .waited.as_secs())]
    Hung {
        address: String,
        /// The process that listens there, if the system reports it.
        pid: Option<u32>,
        waited: Duration,
    },
    #[error("the connection to the daemon broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the daemon sent an unexpected response; it may be another version")]
    Unexpected(#[source] serde_json::Error),
    #[error("`{path}` cannot be called")]
    BadRequest {
        path: String,
        #[source]
        err: hyper::http::Error,
    },
}

impl ClientError {
    /// Returns true if no daemon runs. A daemon that may not be called does run.
    pub fn is_absence(&self) -> bool {
        let ClientError::Unreachable { err, .. } = self else { return false };
        matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
    }
}
