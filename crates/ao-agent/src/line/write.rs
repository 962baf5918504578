//! Formats messages to an agent.

use ao_core::AskId;
use serde_json::json;

/// Formats a user turn. An agent that has taken this delivery ignores it.
pub(crate) fn message(delivery: u32, text: &str, interrupt: bool) -> String {
    json!({ "ao": "message", "delivery": delivery, "text": text, "interrupt": interrupt }).to_string() + "\n"
}

/// Formats the answer to an ask.
pub(crate) fn answer(ask: &AskId, option: Option<&str>, text: &str) -> String {
    let mut answer = json!({ "ao": "answer", "ask": ask, "text": text });
    if let Some(option) = option {
        answer["option"] = option.into();
    }
    answer.to_string() + "\n"
}

/// Formats the request to end the running turn.
pub(crate) fn cancel() -> String {
    json!({ "ao": "cancel" }).to_string() + "\n"
}
