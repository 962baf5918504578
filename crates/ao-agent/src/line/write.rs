//! Formats messages to an agent.

use serde_json::json;

/// Formats a user turn. An agent that has taken this delivery ignores it.
pub(crate) fn message(delivery: u32, text: &str, interrupt: bool) -> String {
    json!({ "ao": "message", "delivery": delivery, "text": text, "interrupt": interrupt }).to_string() + "\n"
}

/// Formats the answer to the open question.
pub(crate) fn answer(text: &str) -> String {
    json!({ "ao": "answer", "text": text }).to_string() + "\n"
}
