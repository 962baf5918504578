//! Waiting for a daemon that may hang.
//!
//! Some calls take hours, so no single time limit fits them. The daemon always answers `/healthz` at once: a call that has
//! waited for a while asks for that, and gives up only if there is no answer.

use std::future::Future;
use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper::client::conn::http1::handshake;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tokio::time::{sleep, timeout};

use super::connection::ClientConnection;
use super::{Bytes, Client, ClientError};

/// Time to wait for a response before a health check, and for the health check itself.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Time to wait for the next piece of a stream, which has a heartbeat every 15 s, before a health check.
const STREAM_PATIENCE: Duration = Duration::from_secs(20);

impl Client {
    /// Waits for a response as long as the daemon is healthy.
    pub(super) async fn watched<T>(&self, answer: impl Future<Output = T>) -> Result<T, ClientError> {
        self.watch(PATIENCE, answer).await
    }

    /// Waits for the next piece of a stream as long as the daemon is healthy.
    pub(super) async fn watched_stream<T>(&self, piece: impl Future<Output = T>) -> Result<T, ClientError> {
        self.watch(STREAM_PATIENCE, piece).await
    }

    async fn watch<T>(&self, patience: Duration, work: impl Future<Output = T>) -> Result<T, ClientError> {
        let hung = async {
            loop {
                sleep(patience).await;
                match self.health_check(PATIENCE).await {
                    Err(ClientError::Hung { address, pid, waited }) => {
                        return ClientError::Hung { address, pid, waited: waited + patience };
                    }
                    Err(err) => return err,
                    Ok(()) => {}
                }
            }
        };
        tokio::select! {
            done = work => Ok(done),
            hung = hung => Err(hung),
        }
    }

    /// Requests `/healthz` on a connection of its own. Fails only if the daemon exists and does not answer: if it is gone, the
    /// connection of the call itself breaks.
    pub(super) async fn health_check(&self, limit: Duration) -> Result<(), ClientError> {
        let stream = match self.connect().await {
            Ok(stream) => stream,
            Err(hung @ ClientError::Hung { .. }) => return Err(hung),
            Err(_) => return Ok(()),
        };
        let pid = stream.peer_pid();
        match timeout(limit, answers(stream, self.host())).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ClientError::Hung { address: self.address(), pid, waited: limit }),
        }
    }
}

/// Waits for any response to `/healthz`, or for the end of the connection.
async fn answers(stream: ClientConnection, host: &str) {
    let Ok((mut sender, connection)) = handshake(TokioIo::new(stream)).await else { return };
    let request = Request::get("/healthz").header(HOST, host).body(Empty::<Bytes>::new());
    tokio::select! {
        _ = sender.send_request(request.expect("the request is fixed")) => {}
        _ = connection => {}
    }
}
