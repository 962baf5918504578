//! A client of the daemon: over its socket on the same machine, or over TCP with a token.
//!
//! Each call has its own connection. Calls are few and the socket is local, so no connection has to be kept alive or found
//! dead.

mod call;
mod checks;
mod connection;
mod daemon;
mod error;
mod events;
mod issues;
mod liveness;
mod path;
mod projects;
mod pulls;
mod queue;
mod reactions;
mod sessions;
mod streaming;
mod terminal;

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

pub use self::call::{ApiCall, ApiReply};
pub use self::checks::CheckRunQuery;
use self::connection::ClientConnection;
pub use self::error::ClientError;
pub use self::events::EventStream;
pub use self::issues::IssueQuery;
pub use self::path::ItemName;
pub use self::pulls::PullQuery;
pub use self::streaming::StreamingResponse;
pub use self::terminal::{TerminalFrame, TerminalReader, TerminalSocket, TerminalWriter};
use crate::Problem;

/// Largest body that is read. The largest that are sent are lists of sessions and pieces of output.
const BODY_LIMIT: usize = 64 * 1024 * 1024;
/// Most output that one call asks for.
const OUTPUT_LIMIT: u32 = 1024 * 1024;
/// Pause between two attempts to connect to a daemon whose queue is full.
const CONNECT_PAUSE: Duration = Duration::from_millis(50);

/// The address of one daemon, and the token to call it with.
#[derive(Clone)]
pub struct Client {
    endpoint: Endpoint,
    token: Option<String>,
}

#[derive(Debug, Clone)]
enum Endpoint {
    Socket(PathBuf),
    /// `host:port`.
    Tcp(String),
}

/// A response with its whole body, successful or not.
#[derive(Debug, Clone)]
pub struct RawResponse {
    pub status: u16,
    pub content_type: Option<String>,
    pub body: Bytes,
}

impl Client {
    /// Connects to the daemon's socket.
    pub fn socket(path: impl AsRef<Path>) -> Client {
        Client { endpoint: Endpoint::Socket(path.as_ref().to_owned()), token: None }
    }

    /// Connects over TCP to `host:port`.
    pub fn tcp(address: impl Into<String>) -> Client {
        Client { endpoint: Endpoint::Tcp(address.into()), token: None }
    }

    /// Calls with the rights of this token, even if the connection itself would grant more.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Client {
        Client { token, ..self }
    }

    pub fn get<T>(&self, path: impl Into<String>) -> ApiCall<'_, T> {
        ApiCall::new(self, Method::GET, path)
    }

    pub fn post<T>(&self, path: impl Into<String>, body: &impl Serialize) -> ApiCall<'_, T> {
        ApiCall::new(self, Method::POST, path).body(body)
    }

    pub fn patch<T>(&self, path: impl Into<String>, body: &impl Serialize) -> ApiCall<'_, T> {
        ApiCall::new(self, Method::PATCH, path).body(body)
    }

    pub fn delete<T>(&self, path: impl Into<String>) -> ApiCall<'_, T> {
        ApiCall::new(self, Method::DELETE, path)
    }

    /// Makes any call. The response may be a refusal; see [`RawResponse::json`].
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<RawResponse, ClientError> {
        let (response, driving) = self.open(method, path, body).await?;
        let (parts, body) = response.into_parts();
        let limited = http_body_util::Limited::new(body, BODY_LIMIT);
        let body = self.watched(limited.collect()).await?.map_err(ClientError::Broken)?.to_bytes();
        driving.abort();
        let content_type =
            parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(RawResponse { status: parts.status.as_u16(), content_type, body })
    }

    /// Sends a request and returns its response before the body is read. The connection lives as long as its task.
    async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<(Response<Incoming>, JoinHandle<()>), ClientError> {
        if method != Method::GET {
            // A hung daemon would do the work once it resumes, long after this call was reported as failed.
            self.health_check(2 * liveness::PATIENCE).await?;
        }
        let stream = self.connect().await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|err| ClientError::Broken(err.into()))?;
        let driving = tokio::spawn(async move {
            // The pending request reports the error.
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
            .map_err(|err| ClientError::BadRequest { path: path.to_owned(), err })?;
        let answer = self.watched(sender.send_request(request)).await?;
        Ok((answer.map_err(|err| ClientError::Broken(err.into()))?, driving))
    }

    async fn connect(&self) -> Result<ClientConnection, ClientError> {
        let connecting = async {
            loop {
                let stream = match &self.endpoint {
                    Endpoint::Socket(path) => ClientConnection::unix(path).await,
                    Endpoint::Tcp(address) => ClientConnection::tcp(address).await,
                };
                match stream {
                    // The daemon's queue of pending connections is full.
                    Err(err) if err.kind() == io::ErrorKind::WouldBlock => sleep(CONNECT_PAUSE).await,
                    stream => break stream,
                }
            }
        };
        match timeout(liveness::PATIENCE, connecting).await {
            Ok(stream) => stream.map_err(|err| ClientError::Unreachable { address: self.address(), err }),
            Err(_) => {
                Err(ClientError::Hung { address: self.address(), pid: None, waited: liveness::PATIENCE })
            }
        }
    }

    fn host(&self) -> &str {
        match &self.endpoint {
            Endpoint::Socket(_) => "localhost",
            Endpoint::Tcp(address) => address,
        }
    }

    /// Returns the address for messages.
    fn address(&self) -> String {
        match &self.endpoint {
            Endpoint::Socket(path) => path.display().to_string(),
            Endpoint::Tcp(address) => address.clone(),
        }
    }
}

impl RawResponse {
    /// Reads the value, or returns the problem that the daemon sent instead.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        if !(200..300).contains(&self.status) {
            return Err(ClientError::Refused(Box::new(self.problem())));
        }
        // A response without a value has an empty body.
        let body: &[u8] = if self.body.is_empty() { b"null" } else { &self.body };
        serde_json::from_slice(body).map_err(ClientError::Unexpected)
    }

    /// Returns the problem of a refusal, made from the status if the body has none.
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
        f.debug_struct("Client").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
