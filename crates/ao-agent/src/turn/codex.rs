//! Parses the events of `codex exec --json`.

use serde_json::Value;

use super::{DOING_MOST, TurnEvent, text};
use crate::text::cut;

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    match text(line, "/type") {
        "thread.started" => vec![TurnEvent::Conversation(text(line, "/thread_id").to_owned())],
        "turn.started" => vec![TurnEvent::Began],
        "item.started" if text(line, "/item/type") == "command_execution" => {
            vec![TurnEvent::Calls(cut(text(line, "/item/command"), DOING_MOST))]
        }
        "item.completed" => item(line).into_iter().collect(),
        "turn.failed" => vec![TurnEvent::Failed(text(line, "/error/message").to_owned())],
        _ => vec![],
    }
}

fn item(line: &Value) -> Option<TurnEvent> {
    match text(line, "/item/type") {
        "agent_message" => Some(TurnEvent::Said(text(line, "/item/text").to_owned())),
        "command_execution" => Some(TurnEvent::Answered(text(line, "/item/aggregated_output").to_owned())),
        "file_change" => Some(TurnEvent::Calls("changes files".into())),
        _ => None,
    }
}
