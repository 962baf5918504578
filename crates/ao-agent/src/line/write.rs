//! What an agent is told.

use serde_json::json;

/// A turn of the user's. An agent that has taken this delivery passes it over.
pub(crate) fn message(delivery: u32, text: &str, interrupt: bool) -> String {
    json!({ "ao": "message", "delivery": delivery, "text": text, "interrupt": interrupt }).to_string() + "\n"
}

/// The answer to the question that is open.
pub(crate) fn answer(text: &str) -> String {
    json!({ "ao": "answer", "text": text }).to_string() + "\n"
}
