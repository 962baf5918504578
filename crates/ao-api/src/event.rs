//! What happened, as the stream of events tells it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of the log. Its `seq` is the id of the server-sent event, so a client that lost the connection goes on where it
/// was, without gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub seq: u64,
    pub at: Timestamp,
    /// `session.launched`, `project.configured`, …
    pub kind: String,
    /// The session it concerns, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whom it concerns: a session, a project, a pull request, `host`.
    pub concerns: String,
    /// The event itself, as the log has it.
    pub data: serde_json::Value,
}
