//! Messages to agents, and what became of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something to tell an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewMessage {
    pub content: String,
    /// Break into a running turn instead of waiting for its end.
    #[serde(default)]
    pub interrupt: bool,
    /// A second message with the same key is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Answer only when the message is accepted or given up, or after this many seconds; at most 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

/// What became of a message so far.
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
    /// Who sent it, in words.
    pub from: String,
    pub state: MessageState,
    /// Why it waits, or why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The text; left out of the answer to a send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<Timestamp>,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    Queued,
    /// It is on its way and not proven to have been taken.
    Written,
    /// The agent took it: a turn of it is our text and nothing else.
    Accepted,
    /// It was given up. The outbox keeps the text.
    Failed,
}

/// The messages of a session that are not yet history, and those that were given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Messages {
    pub messages: Vec<Message>,
    /// How many the agent has taken since the beginning.
    pub accepted: u32,
}

/// An answer to a question that a session has open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// `yes`, `no`, the number of a choice, or a text, as the agent's dialog takes it.
    pub answer: String,
    /// The number of the question that is answered, as `questionNumber` of the session's status has it. If another question is
    /// open by then, the answer is refused.
    pub question: u32,
}
