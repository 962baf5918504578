//! Parses the events of `opencode run --format json`.

use serde_json::Value;

use super::{TurnEvent, call, text};

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    match text(line, "/type") {
        "step_start" => {
            vec![TurnEvent::Conversation(text(line, "/sessionID").to_owned()), TurnEvent::Began]
        }
        "tool_use" => vec![
            call(text(line, "/part/callID"), text(line, "/part/tool"), line.pointer("/part/state/input")),
            TurnEvent::Answered {
                id: text(line, "/part/callID").to_owned(),
                text: match text(line, "/part/state/output") {
                    "" => text(line, "/part/state/error").to_owned(),
                    output => output.to_owned(),
                },
            },
        ],
        "text" => vec![TurnEvent::Said(text(line, "/part/text").to_owned())],
        "error" => vec![TurnEvent::Failed(match text(line, "/error/data/message") {
            "" => text(line, "/error/name").to_owned(),
            message => message.to_owned(),
        })],
        _ => vec![],
    }
}
