//! Events, as the feed sends them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of the log. Its `seq` is the id of the server-sent event, so that a client which lost the connection can
/// continue without gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub seq: u64,
    pub at: Timestamp,
    /// `session.launched`, `project.configured`, …
    pub kind: String,
    /// The session it concerns, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The subject: a session, a project, a pull request, `host`.
    pub concerns: String,
    /// The event itself, as in the log.
    pub data: serde_json::Value,
}
