//! The feed of events.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Response};
use tokio::task::JoinHandle;

use super::path::RequestPath;
use super::{Client, ClientError};
use crate::Event;

/// Largest line. The daemon bounds its events; this bounds memory if it does not.
const LINE: usize = 4 * 1024 * 1024;

/// The events of the feed, in order.
#[derive(Debug)]
pub struct EventStream {
    client: Client,
    response: Response<Incoming>,
    driving: JoinHandle<()>,
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
    ready: VecDeque<Event>,
}

impl Client {
    /// Opens the feed after an event of the log, or at its end if `after` is absent; for one session, if one is named.
    pub async fn events(
        &self,
        after: Option<u64>,
        session: Option<&str>,
    ) -> Result<EventStream, ClientError> {
        let path =
            String::from(RequestPath::new("/api/events").with("after", after).with("session", session));
        let (response, driving) = self.open(Method::GET, &path, None).await?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|err| ClientError::Broken(err.into()))?;
            driving.abort();
            let response = super::RawResponse { status, content_type: None, body: body.to_bytes() };
            return Err(ClientError::Refused(Box::new(response.problem())));
        }
        Ok(EventStream { client: self.clone(), response, driving, partial: vec![], ready: VecDeque::new() })
    }
}

impl EventStream {
    /// Returns the next event; nothing if the daemon has ended the feed. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(frame) = self.client.watched_stream(self.response.frame()).await? else {
                return Ok(None);
            };
            let frame = frame.map_err(|err| ClientError::Broken(err.into()))?;
            if let Some(data) = frame.data_ref() {
                self.take(data)?;
            }
        }
    }

    /// Each event is one line of data. Ids are in the data too, and heartbeats are comments, so nothing else matters.
    fn take(&mut self, data: &[u8]) -> Result<(), ClientError> {
        self.partial.extend_from_slice(data);
        let complete = self.partial.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.partial[..complete].split(|byte| *byte == b'\n') {
            if let Some(json) = line.strip_prefix(b"data:") {
                self.ready.push_back(serde_json::from_slice(json).map_err(ClientError::Unexpected)?);
            }
        }
        self.partial.drain(..complete);
        if self.partial.len() > LINE {
            return Err(ClientError::Broken(format!("a line of more than {LINE} bytes").into()));
        }
        Ok(())
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.driving.abort();
    }
}
