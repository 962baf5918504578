//! Parses the events of `codex exec --json`.

use serde_json::Value;

use super::{DOING_MOST, TurnEvent, plan, text};
use crate::text::cut;

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    match text(line, "/type") {
        "thread.started" => vec![TurnEvent::Conversation(text(line, "/thread_id").to_owned())],
        "turn.started" => vec![TurnEvent::Began],
        "item.started" if text(line, "/item/type") == "command_execution" => {
            vec![calls(line, cut(text(line, "/item/command"), DOING_MOST))]
        }
        "item.started" | "item.updated" if text(line, "/item/type") == "todo_list" => {
            vec![plan(line.pointer("/item/items"), ["text", "content"])]
        }
        "item.completed" => item(line).into_iter().collect(),
        "turn.failed" => vec![TurnEvent::Failed(text(line, "/error/message").to_owned())],
        _ => vec![],
    }
}

/// Returns a call of a tool that Codex does not name.
fn calls(line: &Value, detail: String) -> TurnEvent {
    TurnEvent::Calls { id: text(line, "/item/id").to_owned(), tool: String::new(), detail }
}

fn item(line: &Value) -> Option<TurnEvent> {
    match text(line, "/item/type") {
        "agent_message" => Some(TurnEvent::Said(text(line, "/item/text").to_owned())),
        "command_execution" => Some(TurnEvent::Answered {
            id: text(line, "/item/id").to_owned(),
            text: text(line, "/item/aggregated_output").to_owned(),
        }),
        "file_change" => Some(calls(line, "changes files".into())),
        _ => None,
    }
}
