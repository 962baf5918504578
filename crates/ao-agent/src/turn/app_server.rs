//! Parses what `codex app-server` prints during a turn.

use serde_json::Value;

use super::{DOING_MOST, TurnEvent, plan, text};
use crate::text::cut;

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    let params = &line["params"];
    match text(line, "/method") {
        "item/started" if text(params, "/item/type") == "commandExecution" => {
            vec![calls(params, text(params, "/item/command"))]
        }
        "item/started" if text(params, "/item/type") == "mcpToolCall" => {
            vec![calls(params, text(params, "/item/tool"))]
        }
        "item/completed" => completed(params).into_iter().collect(),
        "turn/plan/updated" => vec![plan(params.get("plan"), ["step", "text"])],
        "turn/completed" if text(params, "/turn/status") == "failed" => {
            vec![TurnEvent::Failed(text(params, "/turn/error/message").to_owned())]
        }
        _ => vec![],
    }
}

/// Returns a call of a tool that Codex does not name.
fn calls(params: &Value, detail: &str) -> TurnEvent {
    let id = text(params, "/item/id").to_owned();
    TurnEvent::Calls { id, tool: String::new(), detail: cut(detail, DOING_MOST) }
}

fn completed(params: &Value) -> Option<TurnEvent> {
    match text(params, "/item/type") {
        "agentMessage" => Some(TurnEvent::Said(text(params, "/item/text").to_owned())),
        "commandExecution" => Some(TurnEvent::Answered {
            id: text(params, "/item/id").to_owned(),
            text: text(params, "/item/aggregatedOutput").to_owned(),
        }),
        "fileChange" => Some(calls(params, "changes files")),
        _ => None,
    }
}
