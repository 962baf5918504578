//! Parses what agents of the Agent Client Protocol print during a turn.

use serde_json::Value;

use super::{DOING_MOST, TurnEvent, plan, text};
use crate::text::cut;

pub(super) fn read(line: &Value) -> Vec<TurnEvent> {
    if !text(line, "/error/message").is_empty() {
        // An agent does not know the request that proves that it has read a prompt.
        let is_ours = text(line, "/id").starts_with("taken-");
        let why = match text(line, "/error/data/details") {
            "" => text(line, "/error/message"),
            details => details,
        };
        return if is_ours { vec![] } else { vec![TurnEvent::Failed(why.to_owned())] };
    }
    let update = &line["params"]["update"];
    match text(update, "/sessionUpdate") {
        "agent_message_chunk" => vec![TurnEvent::SaidMore(text(update, "/content/text").to_owned())],
        "plan" => vec![plan(update.get("entries"), ["content", "text"])],
        // Before its end, not all agents name the command.
        "tool_call" | "tool_call_update" if matches!(text(update, "/status"), "completed" | "failed") => {
            let id = text(update, "/toolCallId").to_owned();
            let parts =
                update.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let texts: Vec<&str> = parts.iter().map(|part| text(part, "/content/text")).collect();
            let title = cut(text(update, "/title"), DOING_MOST);
            let call = TurnEvent::Calls { id: id.clone(), tool: String::new(), detail: title };
            vec![call, TurnEvent::Answered { id, text: texts.join("\n") }]
        }
        _ => vec![],
    }
}
