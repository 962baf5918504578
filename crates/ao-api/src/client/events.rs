//! The feed of events.

use std::collections::VecDeque;
use std::fmt;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Response};
use tokio::task::JoinHandle;

use super::{Client, ClientError};
use crate::{Event, segment};

/// The maximum size of one event. Events are bounded where they are created; this guards against a faulty daemon.
const LINE: usize = 4 * 1024 * 1024;

/// A stream of events.
pub struct Events {
    client: Client,
    response: Response<Incoming>,
    driving: JoinHandle<()>,
    /// The start of a line that is not complete yet.
    begun: Vec<u8>,
    ready: VecDeque<Event>,
}

impl Client {
    /// Streams the events after a position in the log; by default only new ones. `session` selects those of one
    /// session.
    pub async fn events(&self, after: Option<u64>, session: Option<&str>) -> Result<Events, ClientError> {
        let mut path = "/api/events?".to_owned();
        if let Some(after) = after {
            path += &format!("after={after}&");
        }
        if let Some(session) = session {
            path += &format!("session={}&", segment(session));
        }
        let (response, driving) = self.open(Method::GET, path.trim_end_matches(['?', '&']), None).await?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|err| ClientError::Broken(err.into()))?;
            driving.abort();
            let answer = super::Answer { status, content_type: None, body: body.to_bytes() };
            return Err(ClientError::Refused(Box::new(answer.problem())));
        }
        Ok(Events { client: self.clone(), response, driving, begun: vec![], ready: VecDeque::new() })
    }
}

impl Events {
    /// Returns the next event, or `None` if the daemon has ended the stream. Cancel safe.
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

    /// Parses received bytes. Each event is one line of data; ids are in the data too and heartbeats are comments, so
    /// other lines are ignored.
    fn take(&mut self, data: &[u8]) -> Result<(), ClientError> {
        self.begun.extend_from_slice(data);
        let complete = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.begun[..complete].split(|byte| *byte == b'\n') {
            if let Some(json) = line.strip_prefix(b"data:") {
                self.ready.push_back(serde_json::from_slice(json).map_err(ClientError::Unreadable)?);
            }
        }
        self.begun.drain(..complete);
        if self.begun.len() > LINE {
            return Err(ClientError::Broken(format!("a line of more than {LINE} bytes").into()));
        }
        Ok(())
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}
