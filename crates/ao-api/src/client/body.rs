//! Responses whose body is read in chunks.

use std::fmt;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Response};
use tokio::task::JoinHandle;

use super::{ANSWER, Answer, Client, ClientError};

/// The start of a response. Its body may be endless.
pub struct Begun {
    client: Client,
    response: Response<Incoming>,
    driving: JoinHandle<()>,
}

impl Client {
    /// Makes a call whose body is read chunk by chunk.
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Begun, ClientError> {
        let (response, driving) = self.open(method, path, body).await?;
        Ok(Begun { client: self.clone(), response, driving })
    }
}

impl Begun {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn content_type(&self) -> Option<&str> {
        self.response.headers().get(CONTENT_TYPE)?.to_str().ok()
    }

    /// Returns the next chunk, or `None` at the end. Cancel safe.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let Some(frame) = self.client.watched_stream(self.response.frame()).await? else {
                return Ok(None);
            };
            let frame = frame.map_err(|err| ClientError::Broken(err.into()))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// Reads the rest of the body, up to the size limit.
    pub async fn whole(mut self) -> Result<Answer, ClientError> {
        let (status, content_type) = (self.status(), self.content_type().map(str::to_owned));
        let body = Limited::new(self.response.body_mut(), ANSWER);
        let body = self.client.watched(body.collect()).await?.map_err(ClientError::Broken)?.to_bytes();
        Ok(Answer { status, content_type, body })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun").field("status", &self.status()).finish_non_exhaustive()
    }
}
