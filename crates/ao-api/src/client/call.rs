//! A call that is ready to be made.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;

use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Client, ClientError, RawResponse};

/// A call that returns a `T`. Await it for the value; [`ApiCall::reply`] returns the JSON as well.
#[must_use = "a call is made when it is awaited"]
pub struct ApiCall<'a, T> {
    client: &'a Client,
    method: Method,
    path: String,
    body: Option<Result<Vec<u8>, serde_json::Error>>,
    value: PhantomData<fn() -> T>,
}

/// The value of a response, and the JSON that it was read from.
#[derive(Debug)]
pub struct ApiReply<T> {
    pub value: T,
    json: Bytes,
}

impl<T> ApiReply<T> {
    /// Returns the JSON as the daemon sent it, with fields that this version does not know.
    pub fn json(&self) -> &[u8] {
        if self.json.is_empty() { b"null" } else { &self.json }
    }
}

impl<'a, T> ApiCall<'a, T> {
    pub(super) fn new(client: &'a Client, method: Method, path: impl Into<String>) -> ApiCall<'a, T> {
        ApiCall { client, method, path: path.into(), body: None, value: PhantomData }
    }

    pub(super) fn body(self, body: &impl Serialize) -> ApiCall<'a, T> {
        ApiCall { body: Some(serde_json::to_vec(body)), ..self }
    }

    /// Returns the body as it came, which need not be JSON.
    pub async fn raw(self) -> Result<Bytes, ClientError> {
        let response = self.send().await?;
        match response.status {
            200..300 => Ok(response.body),
            _ => Err(ClientError::Refused(Box::new(response.problem()))),
        }
    }

    async fn send(self) -> Result<RawResponse, ClientError> {
        send(self.client, self.method, self.path, self.body).await
    }
}

/// Makes a call of any type, so that there is one copy of this code.
async fn send(
    client: &Client,
    method: Method,
    path: String,
    body: Option<Result<Vec<u8>, serde_json::Error>>,
) -> Result<RawResponse, ClientError> {
    let body = body.transpose().map_err(ClientError::Unexpected)?;
    client.call(method, &path, body).await
}

impl<T: DeserializeOwned> ApiCall<'_, T> {
    /// Returns the value together with the JSON that it was read from.
    pub async fn reply(self) -> Result<ApiReply<T>, ClientError> {
        let response = self.send().await?;
        Ok(ApiReply { value: response.json()?, json: response.body })
    }
}

impl<'a, T: DeserializeOwned + 'a> IntoFuture for ApiCall<'a, T> {
    type Output = Result<T, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await?.json() })
    }
}

impl<T> fmt::Debug for ApiCall<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiCall")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
