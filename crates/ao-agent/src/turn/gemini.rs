//! Parses Gemini CLI's stream-json.

use serde_json::Value;

use super::{TurnEvent, call, text};

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    match text(line, "/type") {
        "init" => vec![TurnEvent::Conversation(text(line, "/session_id").to_owned()), TurnEvent::Began],
        "message" if text(line, "/role") == "assistant" => {
            let content = text(line, "/content").to_owned();
            let is_delta = line.get("delta").and_then(Value::as_bool) == Some(true);
            vec![if is_delta { TurnEvent::SaidMore(content) } else { TurnEvent::Said(content) }]
        }
        "tool_use" => {
            vec![call(text(line, "/tool_id"), text(line, "/tool_name"), line.get("parameters"))]
        }
        "tool_result" => vec![TurnEvent::Answered {
            id: text(line, "/tool_id").to_owned(),
            text: text(line, "/output").to_owned(),
        }],
        "error" => vec![TurnEvent::Failed(text(line, "/message").to_owned())],
        "result" if text(line, "/status") == "error" => {
            vec![TurnEvent::Failed(text(line, "/error/message").to_owned())]
        }
        _ => vec![],
    }
}
