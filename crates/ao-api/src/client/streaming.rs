//! A response whose body is read as it comes.

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Response};
use tokio::task::JoinHandle;

use super::{BODY_LIMIT, Client, ClientError, RawResponse};

/// A response whose body may have no end.
#[derive(Debug)]
pub struct StreamingResponse {
    client: Client,
    response: Response<Incoming>,
    driving: JoinHandle<()>,
}

impl Client {
    /// Makes any call and leaves the body of its response to be read piece by piece.
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<StreamingResponse, ClientError> {
        let (response, driving) = self.open(method, path, body).await?;
        Ok(StreamingResponse { client: self.clone(), response, driving })
    }
}

impl StreamingResponse {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn content_type(&self) -> Option<&str> {
        self.response.headers().get(CONTENT_TYPE)?.to_str().ok()
    }

    /// Returns the next piece; nothing at the end. Cancel-safe.
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

    /// Reads the whole body, up to the limit of any response.
    pub async fn whole(mut self) -> Result<RawResponse, ClientError> {
        let (status, content_type) = (self.status(), self.content_type().map(str::to_owned));
        let body = Limited::new(self.response.body_mut(), BODY_LIMIT);
        let body = self.client.watched(body.collect()).await?.map_err(ClientError::Broken)?.to_bytes();
        Ok(RawResponse { status, content_type, body })
    }
}

impl Drop for StreamingResponse {
    fn drop(&mut self) {
        self.driving.abort();
    }
}
