//! An HTTP endpoint that notices are posted to, and the interpretation of its answers.
//!
//! Redirects are not followed: a notice goes only where a person has sent it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::NotifyError;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::Value;

use crate::secrets::{ChannelSecrets, masked};
use crate::settings::is_loopback;
use crate::text::{as_it_is, fit};

/// Bytes read of an answer. It is for people, who are shown at most [`EXCERPT`] of it.
const READ: usize = 4096;
const EXCERPT: usize = 200;
/// Bytes read of an answer that is parsed.
const ANSWER: usize = 256 * 1024;
/// The pause if a channel does not specify one, and the longest that is accepted.
const WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// The target of HTTP posts.
pub(crate) struct HttpEndpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    secrets: ChannelSecrets,
}

impl HttpEndpoint {
    /// `secrets` are those that are not part of the URL.
    pub(crate) fn new(
        url: Url,
        headers: HeaderMap,
        mut secrets: ChannelSecrets,
    ) -> Result<HttpEndpoint, String> {
        secrets.add_address(&url);
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls(&url).map_err(|err| format!("TLS cannot be set up: {err}"))?)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("ao/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            // No proxy can reach this machine.
            client = client.no_proxy();
        }
        let client = client.build().map_err(|err| secrets.hide(&chain(&err.without_url())))?;
        Ok(HttpEndpoint { client, url, headers, secrets })
    }

    /// Posts JSON. Has no time limit of its own: the caller sets one.
    pub(crate) async fn post(&self, body: Vec<u8>, more: HeaderMap) -> Result<(), NotifyError> {
        self.send(body, more).await.map(drop)
    }

    /// Posts JSON, and returns the beginning of the answer.
    pub(crate) async fn ask(&self, body: Vec<u8>, more: HeaderMap) -> Result<Vec<u8>, NotifyError> {
        let mut answer = self.send(body, more).await?;
        Ok(read(&mut answer, ANSWER).await)
    }

    /// Builds an error, with secrets masked.
    pub(crate) fn failed(&self, why: &str) -> NotifyError {
        let why = self.excerpt(why.as_bytes()).unwrap_or_default();
        NotifyError::Failed(format!("`{}`: {why}", self.target()))
    }

    async fn send(&self, body: Vec<u8>, more: HeaderMap) -> Result<Response, NotifyError> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .headers(more)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body);
        let answer = request.send().await.map_err(|err| {
            let why = self.secrets.hide(&chain(&err.without_url()));
            NotifyError::Failed(format!("`{}` could not be reached: {why}", self.target()))
        })?;
        self.judge(answer).await
    }

    pub(crate) fn target(&self) -> String {
        masked(&self.url)
    }

    async fn judge(&self, mut answer: Response) -> Result<Response, NotifyError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let content = read(&mut answer, READ).await;
        let wait = answer.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|value| seconds(value.to_str().ok()?.trim(), Timestamp::now()));
        let busy = status.is_server_error() && wait.is_some();
        if status == StatusCode::TOO_MANY_REQUESTS || busy {
            return Err(NotifyError::Later(wait.or_else(|| wait_in(&content)).map_or(WAIT, bounded)));
        }
        let mut why = format!("`{}` answered {}", self.target(), status.as_u16());
        if status.is_redirection() {
            let to = answer.headers().get(LOCATION).and_then(|to| self.url.join(to.to_str().ok()?).ok());
            let host = to.as_ref().and_then(Url::host_str).unwrap_or("another place");
            why.push_str(&format!(
                ", a redirect to {host}, which is not followed; set the address that it leads to"
            ));
        } else if let Some(excerpt) = self.excerpt(&content) {
            why.push_str(&format!(": {excerpt}"));
        }
        Err(NotifyError::Failed(why))
    }

    /// Returns the beginning of an answer, on one line and with secrets masked.
    fn excerpt(&self, content: &[u8]) -> Option<String> {
        let content = self.secrets.hide(&String::from_utf8_lossy(content));
        let words: Vec<&str> = content
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        (!words.is_empty()).then(|| fit(&words.join(" "), EXCERPT, as_it_is))
    }
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint").field("target", &self.target()).finish_non_exhaustive()
    }
}

/// Builds the TLS configuration with the certificates that this machine trusts. For `http` none are loaded, so that a
/// machine without any can still post to itself.
pub fn tls(url: &Url) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(if url.scheme() == "https" {
        config.with_platform_verifier()?.with_no_client_auth()
    } else {
        config.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    })
}

async fn read(answer: &mut Response, most: usize) -> Vec<u8> {
    let mut content = Vec::new();
    // An interrupted answer still has content.
    while let Ok(Some(chunk)) = answer.chunk().await {
        content.extend_from_slice(&chunk);
        if content.len() >= most {
            content.truncate(most);
            break;
        }
    }
    content
}

/// Parses `Retry-After`: in seconds, or a date.
fn seconds(text: &str, now: Timestamp) -> Option<f64> {
    let until = || rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    text.parse().ok().or_else(|| Some(until()?.duration_since(now).as_secs_f64()))
}

/// Parses the seconds to wait from the answers of Discord and Telegram.
fn wait_in(content: &[u8]) -> Option<f64> {
    let content: Value = serde_json::from_slice(content).ok()?;
    content.get("retry_after").or_else(|| content.get("parameters")?.get("retry_after"))?.as_f64()
}

fn bounded(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(WAIT).clamp(Duration::from_secs(1), LONGEST_WAIT)
}

/// Formats an error with its causes, in which reqwest gives the reason.
fn chain(err: &dyn Error) -> String {
    let mut text = err.to_string();
    let mut source = err.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_found_and_bounded() {
        assert_eq!(wait_in(br#"{"retry_after": 1.5, "global": false}"#), Some(1.5));
        assert_eq!(wait_in(br#"{"ok":false,"parameters":{"retry_after":35}}"#), Some(35.0));
        assert_eq!(wait_in(b"slow down"), None);
        let now = "2015-10-21T07:27:00Z".parse().unwrap();
        assert_eq!(seconds("7", now), Some(7.0));
        assert_eq!(seconds("Wed, 21 Oct 2015 07:28:00 GMT", now), Some(60.0));
        assert_eq!(seconds("soon", now), None);
        assert_eq!(bounded(0.2), Duration::from_secs(1));
        assert_eq!(bounded(1e30), WAIT);
        assert_eq!(bounded(1e6), LONGEST_WAIT);
        assert_eq!(bounded(-1.0), WAIT);
    }
}
