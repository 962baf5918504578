//! Parses Claude Code's stream-json, which Qwen Code uses too.

use ao_core::Timestamp;
use serde_json::Value;

use super::{TurnEvent, answer, call, plan, text};

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    match text(line, "/type") {
        "system" if text(line, "/subtype") == "init" => {
            vec![TurnEvent::Conversation(text(line, "/session_id").to_owned()), TurnEvent::Began]
        }
        // Its user's message, which it repeats.
        "user" if line.get("isReplay").and_then(Value::as_bool) == Some(true) => vec![],
        "assistant" | "user" => parts(line).iter().filter_map(part).collect(),
        "rate_limit_event" if text(line, "/rate_limit_info/status") == "rejected" => {
            let seconds = line.pointer("/rate_limit_info/resetsAt").and_then(Value::as_i64);
            vec![TurnEvent::Limited { until: seconds.map(|seconds| Timestamp(seconds.saturating_mul(1000))) }]
        }
        "result" if line.get("is_error").and_then(Value::as_bool) == Some(true) => failure(line),
        // The lines before have its text already.
        _ => vec![],
    }
}

fn parts(line: &Value) -> &[Value] {
    line.pointer("/message/content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn part(part: &Value) -> Option<TurnEvent> {
    match text(part, "/type") {
        "text" => Some(TurnEvent::Said(text(part, "/text").to_owned())),
        "tool_use" if text(part, "/name") == "TodoWrite" => {
            Some(plan(part.pointer("/input/todos"), ["content", "text"]))
        }
        "tool_use" => Some(call(text(part, "/id"), text(part, "/name"), part.get("input"))),
        "tool_result" => Some(TurnEvent::Answered {
            id: text(part, "/tool_use_id").to_owned(),
            text: part.get("content").map(answer).unwrap_or_default(),
        }),
        _ => None,
    }
}

fn failure(line: &Value) -> Vec<TurnEvent> {
    let why = match text(line, "/result") {
        "" => text(line, "/errors/0"),
        why => why,
    };
    let why = if why.is_empty() { text(line, "/subtype") } else { why };
    let cause = match line.get("api_error_status").and_then(Value::as_i64) {
        Some(429) => Some(TurnEvent::Limited { until: None }),
        Some(401) => Some(TurnEvent::LoggedOut),
        _ => None,
    };
    [TurnEvent::Failed(why.to_owned())].into_iter().chain(cause).collect()
}
