//! Messages to agents and their delivery.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewMessage {
    pub content: String,
    /// Interrupts a running turn instead of waiting for its end.
    #[serde(default)]
    pub interrupt: bool,
    /// The idempotency key: a second message with the same key is the same message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Responds only when the message is accepted or given up, or after this many seconds; at most 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

/// The state of a message after it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageSent {
    pub session_id: String,
    pub session_name: String,
    pub message: Message,
}

/// A message in the outbox of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub number: u32,
    /// A description of the sender.
    pub from: String,
    pub state: MessageState,
    /// The reason it waits or was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The text; absent in the response to a send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<Timestamp>,
}

/// The progress of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    Queued,
    /// Written to the agent, but not proven to be taken.
    Written,
    /// Taken by the agent: one of its turns is exactly this text.
    Accepted,
    /// Given up. The outbox keeps the text.
    Failed,
}

/// The messages of a session that are undelivered or were given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Messages {
    pub messages: Vec<Message>,
    /// The number of messages that the agent has taken so far.
    pub accepted: u32,
}

/// An answer to an open ask of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Answer {
    /// `yes`, `no`, the id, label or number of an option, or a text, depending on the ask. May be absent with `always`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The ask: its number, or the agent's id of it. If another one is open by then, the answer is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// The number of the ask, as in `questionNumber` of the session's status, instead of `ask`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<u32>,
    /// Chooses the option that holds for later asks too. Without an answer, the one that allows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}
