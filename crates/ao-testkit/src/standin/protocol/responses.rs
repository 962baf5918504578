//! OpenAI responses.

use serde_json::{Value, json};

use super::{
    AnswerFrame, ModelAnswer, ModelRequest, OfferedTool, StreamEvent, content_texts, fresh_id, items, pieces,
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let mut request = ModelRequest::default();
    for tool in items(&body["tools"]) {
        match tool["type"].as_str() {
            Some("function") => request.tools.extend(OfferedTool::read(tool, "parameters")),
            Some("namespace") => {
                let namespace = tool["name"].as_str().map(str::to_owned);
                let inner = items(&tool["tools"]).filter_map(|tool| OfferedTool::read(tool, "parameters"));
                request.tools.extend(inner.map(|tool| OfferedTool { namespace: namespace.clone(), ..tool }));
            }
            Some("local_shell") => {
                request.tools.push(OfferedTool { name: "local_shell".into(), ..OfferedTool::default() });
            }
            _ => {}
        }
    }
    request.add_system(body["instructions"].as_str());
    if let Some(text) = body["input"].as_str() {
        request.add_texts([text]);
    }
    for item in items(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind.ends_with("_output") {
            request.results += 1;
        } else if kind == "message" && (item["role"] == "developer" || item["role"] == "system") {
            request.add_system(content_texts(&item["content"]));
        } else if kind == "message" && item["role"] == "user" {
            // Codex sends its instructions and environment as messages of the user.
            let is_ours =
                |text: &&str| !text.starts_with("# AGENTS.md") && !text.trim_start().starts_with('<');
            request.add_texts(content_texts(&item["content"]).into_iter().filter(is_ours));
        }
    }
    request
}

pub(super) fn whole(frame: AnswerFrame<'_>) -> Value {
    response(frame, &item(frame.answer))
}

pub(super) fn stream(frame: AnswerFrame<'_>) -> Vec<StreamEvent> {
    let item = item(frame.answer);
    let response = response(frame, &item);
    let mut events = ResponseEvents::default();

    let mut begun = response.clone();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    events.add("response.created", json!({ "response": begun }));
    let mut open = item.clone();
    open["status"] = json!("in_progress");
    match frame.answer {
        ModelAnswer::Text(text) => {
            open["content"] = json!([]);
            events.add("response.output_item.added", json!({ "output_index": 0, "item": open }));
            let place = |fields: Value| {
                let mut data = json!({ "item_id": item["id"], "output_index": 0, "content_index": 0 });
                for (name, value) in fields.as_object().into_iter().flatten() {
                    data[name] = value.clone();
                }
                data
            };
            let part = json!({ "type": "output_text", "text": "", "annotations": [] });
            events.add("response.content_part.added", place(json!({ "part": part })));
            for piece in pieces(text) {
                events.add("response.output_text.delta", place(json!({ "delta": piece })));
                events.mark_piece();
            }
            events.add("response.output_text.done", place(json!({ "text": text })));
            events.add("response.content_part.done", place(json!({ "part": item["content"][0] })));
        }
        ModelAnswer::Call { .. } => {
            open["arguments"] = json!("");
            events.add("response.output_item.added", json!({ "output_index": 0, "item": open }));
            let (id, arguments) = (&item["id"], &item["arguments"]);
            let delta = json!({ "item_id": id, "output_index": 0, "delta": arguments });
            events.add("response.function_call_arguments.delta", delta);
            let done = json!({ "item_id": id, "output_index": 0, "arguments": arguments });
            events.add("response.function_call_arguments.done", done);
        }
    }
    events.add("response.output_item.done", json!({ "output_index": 0, "item": item }));
    events.add("response.completed", json!({ "response": response }));
    events.list
}

/// Events with their numbers.
#[derive(Debug, Default)]
struct ResponseEvents {
    list: Vec<StreamEvent>,
}

impl ResponseEvents {
    fn add(&mut self, name: &'static str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.list.len());
        self.list.push(StreamEvent::named(name, &data));
    }

    fn mark_piece(&mut self) {
        let last = self.list.pop();
        self.list.extend(last.map(StreamEvent::piece));
    }
}

fn item(answer: &ModelAnswer) -> Value {
    match answer {
        ModelAnswer::Text(text) => json!({
            "type": "message",
            "id": fresh_id("msg_"),
            "status": "completed",
            "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        ModelAnswer::Call { tool, arguments } => {
            let mut item = json!({
                "type": "function_call",
                "id": fresh_id("fc_"),
                "call_id": fresh_id("call_"),
                "status": "completed",
                "name": tool.name,
                "arguments": arguments.to_string(),
            });
            if let Some(namespace) = &tool.namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
    }
}

fn response(frame: AnswerFrame<'_>, item: &Value) -> Value {
    let (input, output) = frame.tokens(item);
    json!({
        "id": fresh_id("resp_"),
        "object": "response",
        "created_at": 1,
        "model": frame.model(),
        "status": "completed",
        "output": [item],
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + output,
        },
    })
}
