//! The stream of events, read as it comes.

use std::collections::VecDeque;
use std::fmt;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Response};
use tokio::task::JoinHandle;

use super::{Client, ClientError};
use crate::{Event, segment};

/// What one event may at most take. They are bounded where they are made; this is for a daemon gone mad.
const LINE: usize = 4 * 1024 * 1024;

/// Events, one after another.
pub struct Events {
    client: Client,
    response: Response<Incoming>,
    driving: JoinHandle<()>,
    /// What has come of a line that is not complete.
    begun: Vec<u8>,
    ready: VecDeque<Event>,
}

impl Client {
    /// Events behind a place in the log; those to come, if there is none. Only those of one session, if one is named.
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
    /// The next one; nothing if the daemon has ended the stream. Can be dropped and called again: nothing is lost by that.
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
        self.begun.extend_from_slice(data);
        let complete = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.begun[..complete].split(|byte| *byte == b'\n') {
            if let Some(json) = line.strip_prefix(b"data:") {
                self.ready.push_back(serde_json::from_slice(json).map_err(ClientError::Strange)?);
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
