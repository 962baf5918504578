//! Calls about sessions.
//!
//! The daemon resolves the name of a session, and the result can change as sessions come and end. To make several calls
//! about one session, look it up once and use its id.

use serde::de::IgnoredAny;
use serde_json::json;

use super::path::RequestPath;
use super::{ApiCall, Client, ClientError, OUTPUT_LIMIT};
use crate::{
    Answer, Asks, Cleanup, CleanupOrder, Explanation, MessageSent, Messages, NewMessage, NewSession, Output,
    Restore, Resume, Session, SessionAsk, Sessions, Spawned, Stop, segment,
};

const SESSIONS: &str = "/api/sessions";

/// Builds the path of a session, or of a part of it: `path("app-3", "/explain")`.
fn path(session: &str, rest: &str) -> String {
    format!("{SESSIONS}/{}{rest}", segment(session))
}

impl Client {
    pub fn sessions(&self) -> ApiCall<'_, Sessions> {
        self.get(SESSIONS)
    }

    pub fn session(&self, session: &str) -> ApiCall<'_, Session> {
        self.get(path(session, ""))
    }

    /// Returns the reasons for a session's status: rules, signals and incidents.
    pub fn explain(&self, session: &str) -> ApiCall<'_, Explanation> {
        self.get(path(session, "/explain"))
    }

    pub fn messages(&self, session: &str) -> ApiCall<'_, Messages> {
        self.get(path(session, "/messages"))
    }

    pub fn spawn(&self, new: &NewSession) -> ApiCall<'_, Spawned> {
        self.post(SESSIONS, new)
    }

    pub fn send(&self, session: &str, message: &NewMessage) -> ApiCall<'_, MessageSent> {
        self.post(path(session, "/message"), message)
    }

    /// Returns the open asks of all sessions, or of one.
    pub fn asks(&self, session: Option<&str>) -> ApiCall<'_, Asks> {
        match session {
            Some(session) => self.get(path(session, "/asks")),
            None => self.get("/api/asks"),
        }
    }

    /// Returns an open ask with all of its details.
    pub fn ask(&self, session: &str, ask: &str) -> ApiCall<'_, SessionAsk> {
        self.get(path(session, &format!("/asks/{}", segment(ask))))
    }

    pub fn answer(&self, session: &str, answer: &Answer) -> ApiCall<'_, Session> {
        self.post(path(session, "/answer"), answer)
    }

    pub fn stop(&self, session: &str, order: &Stop) -> ApiCall<'_, IgnoredAny> {
        self.post(path(session, "/stop"), order)
    }

    pub fn pause(&self, session: &str) -> ApiCall<'_, Session> {
        self.post(path(session, "/pause"), &json!({}))
    }

    pub fn resume(&self, session: &str, limits: &Resume) -> ApiCall<'_, Session> {
        self.post(path(session, "/resume"), limits)
    }

    pub fn retry(&self, session: &str) -> ApiCall<'_, Session> {
        self.post(path(session, "/retry"), &json!({}))
    }

    pub fn restore(&self, session: &str, restore: &Restore) -> ApiCall<'_, Session> {
        self.post(path(session, "/restore"), restore)
    }

    /// Returns up to 1 MiB of output from an offset on. With `wait`, returns once there is more output, the program has ended,
    /// or a time limit of the daemon has passed.
    pub fn output(&self, session: &str, from: u64, wait: bool) -> ApiCall<'_, Output> {
        let path = RequestPath::new(path(session, "/output"));
        self.get(path.with("from", Some(from)).with("limit", Some(OUTPUT_LIMIT)).with("wait", Some(wait)))
    }

    /// Returns the last `bytes` bytes of output, at most 1 MiB.
    pub fn output_tail(&self, session: &str, bytes: u64) -> ApiCall<'_, Output> {
        self.get(RequestPath::new(path(session, "/output")).with("tail", Some(bytes)))
    }

    /// Returns the output of a session's set-up commands; empty if there were none.
    pub async fn setup_log(&self, session: &str) -> Result<String, ClientError> {
        let log = self.get::<IgnoredAny>(path(session, "/setup-log")).raw().await?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Removes workspaces that are no longer needed, or lists them.
    pub fn cleanup(&self, order: &CleanupOrder) -> ApiCall<'_, Cleanup> {
        self.post("/api/workspaces/cleanup", order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_name_stays_one_segment_of_the_path() {
        assert_eq!(path("app-3", "/explain"), "/api/sessions/app-3/explain");
        assert_eq!(path("a/b", ""), "/api/sessions/a%2Fb");
    }
}
