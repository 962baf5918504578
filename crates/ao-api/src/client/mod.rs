//! A client of the daemon: over its socket on the same machine, or over TCP with a token.
//!
//! Each call has its own connection. Calls are few and the socket is local, so there is no connection to keep alive or
//! to find dead.

mod body;
mod checks;
mod conflicts;
mod error;
mod events;
mod issues;
mod policies;
mod pulls;
mod query;
mod reactions;
mod stream;
mod terminal;
mod watch;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

pub use hyper::Method;
pub use hyper::body::Bytes;

pub use self::body::Begun;
pub use self::checks::RunsWanted;
pub use self::error::ClientError;
pub use self::events::Events;
pub use self::issues::IssuesWanted;
pub use self::pulls::PullsWanted;
pub use self::query::Meant;
use self::stream::Stream;
pub use self::terminal::{Hear, Said, Talk, Terminal};
use crate::Problem;

/// The maximum size of a response. The largest are lists of sessions and chunks of output.
const ANSWER: usize = 64 * 1024 * 1024;
/// The pause between two attempts to connect to a daemon whose backlog is full.
const CONNECT_PAUSE: Duration = Duration::from_millis(50);

/// A client of one daemon.
#[derive(Clone)]
pub struct Client {
    place: Place,
    token: Option<String>,
}

#[derive(Debug, Clone)]
enum Place {
    Socket(PathBuf),
    /// `host:port`.
    Tcp(String),
}

/// A response as it was received.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub content_type: Option<String>,
    pub body: Bytes,
}

impl Client {
    /// Connects by the daemon's socket.
    pub fn socket(path: impl AsRef<Path>) -> Client {
        Client { place: Place::Socket(path.as_ref().to_owned()), token: None }
    }

    /// Connects by TCP, to `host:port`.
    pub fn tcp(address: impl Into<String>) -> Client {
        Client { place: Place::Tcp(address.into()), token: None }
    }

    /// Authenticates with this token, even if the connection itself has more rights.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Client {
        Client { token, ..self }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, None).await?.json()
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::Unreadable)?;
        self.call(Method::POST, path, Some(body)).await?.json()
    }

    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::Unreadable)?;
        self.call(Method::PATCH, path, Some(body)).await?.json()
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::DELETE, path, None).await?.json()
    }

    /// Makes any call. The response may be an error; see [`Answer::json`].
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, ClientError> {
        let (response, driving) = self.open(method, path, body).await?;
        let (parts, body) = response.into_parts();
        let limited = http_body_util::Limited::new(body, ANSWER);
        let body = self.watched(limited.collect()).await?.map_err(ClientError::Broken)?.to_bytes();
        driving.abort();
        let content_type =
            parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Answer { status: parts.status.as_u16(), content_type, body })
    }

    /// Sends a request and returns the start of its response. The connection lives as long as its task.
    async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<(Response<Incoming>, JoinHandle<()>), ClientError> {
        if method != Method::GET {
            // A daemon that hangs now would do it when it continues, long after the call was reported as failed.
            self.sign_of_life(2 * watch::PATIENCE).await?;
        }
        let stream = self.connect().await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|err| ClientError::Broken(err.into()))?;
        let driving = tokio::spawn(async move {
            // Errors are reported by the response.
            let _ = connection.await;
        });
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.host())
            .header(ACCEPT, "application/json, text/event-stream;q=0.9, */*;q=0.1");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|err| ClientError::BadCall { path: path.to_owned(), err })?;
        let answer = self.watched(sender.send_request(request)).await?;
        Ok((answer.map_err(|err| ClientError::Broken(err.into()))?, driving))
    }

    async fn connect(&self) -> Result<Stream, ClientError> {
        let connecting = async {
            loop {
                let stream = match &self.place {
                    Place::Socket(path) => Stream::unix(path).await,
                    Place::Tcp(address) => Stream::tcp(address).await,
                };
                match stream {
                    // The backlog of the socket is full.
                    Err(err) if err.kind() == io::ErrorKind::WouldBlock => sleep(CONNECT_PAUSE).await,
                    stream => break stream,
                }
            }
        };
        match timeout(watch::PATIENCE, connecting).await {
            Ok(stream) => stream.map_err(|err| ClientError::Unreachable { place: self.place(), err }),
            Err(_) => Err(ClientError::Hung { place: self.place(), pid: None, waited: watch::PATIENCE }),
        }
    }

    fn host(&self) -> &str {
        match &self.place {
            Place::Socket(_) => "localhost",
            Place::Tcp(address) => address,
        }
    }

    /// Describes the address.
    fn place(&self) -> String {
        match &self.place {
            Place::Socket(path) => path.display().to_string(),
            Place::Tcp(address) => address.clone(),
        }
    }
}

impl Answer {
    /// Returns the parsed body, or the problem of an error response.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        if !(200..300).contains(&self.status) {
            return Err(ClientError::Refused(Box::new(self.problem())));
        }
        // A call without a result has an empty body.
        let body: &[u8] = if self.body.is_empty() { b"null" } else { &self.body };
        serde_json::from_slice(body).map_err(ClientError::Unreadable)
    }

    /// Returns the problem of an error response, or one made from its status.
    pub fn problem(&self) -> Problem {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&self.body);
            let title = format!("the daemon answered {} {}", self.status, text.trim());
            Problem::new(self.status, "unexpected-answer", title.trim_end())
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("place", &self.place).finish_non_exhaustive()
    }
}
