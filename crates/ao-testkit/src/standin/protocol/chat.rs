//! OpenAI chat completions.

use serde_json::{Value, json};

use super::{
    AnswerFrame, ModelAnswer, ModelRequest, OfferedTool, StreamEvent, content_texts, fresh_id, items, pieces,
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let functions = items(&body["tools"]).filter(|tool| tool["type"] == "function");
    let mut request = ModelRequest {
        tools: functions.filter_map(|tool| OfferedTool::read(&tool["function"], "parameters")).collect(),
        ..ModelRequest::default()
    };
    for message in items(&body["messages"]) {
        match message["role"].as_str() {
            Some("user") => request.add_texts(content_texts(&message["content"])),
            Some("system" | "developer") => request.add_system(content_texts(&message["content"])),
            Some("tool") => request.results += 1,
            _ => {}
        }
    }
    request
}

pub(super) fn whole(frame: AnswerFrame<'_>) -> Value {
    let (message, finish) = message(frame.answer);
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    json!({
        "id": fresh_id("chatcmpl-"),
        "object": "chat.completion",
        "created": 1,
        "model": frame.model(),
        "choices": [choice],
        "usage": usage(frame, &message),
    })
}

pub(super) fn stream(frame: AnswerFrame<'_>) -> Vec<StreamEvent> {
    let id = fresh_id("chatcmpl-");
    let (mut message, finish) = message(frame.answer);
    let usage = usage(frame, &message);
    let chunk = |choices: Value, usage: Value| {
        let mut data = json!({
            "id": id, "object": "chat.completion.chunk", "created": 1, "model": frame.model(), "choices": choices,
        });
        if !usage.is_null() {
            data["usage"] = usage;
        }
        StreamEvent::new(None, &data)
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    match frame.answer {
        ModelAnswer::Text(text) => {
            let piece = |piece| delta(json!({ "content": piece }), Value::Null).piece();
            events.extend(pieces(text).into_iter().map(piece));
        }
        ModelAnswer::Call { .. } => {
            message["tool_calls"][0]["index"] = json!(0);
            events.push(delta(json!({ "tool_calls": message["tool_calls"] }), Value::Null));
        }
    }
    events.push(delta(json!({}), json!(finish)));
    events.push(chunk(json!([]), usage));
    events.push(StreamEvent { name: None, data: "[DONE]".into(), piece: false });
    events
}

fn message(answer: &ModelAnswer) -> (Value, &'static str) {
    match answer {
        ModelAnswer::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        ModelAnswer::Call { tool, arguments } => {
            let function = json!({ "name": tool.name, "arguments": arguments.to_string() });
            let call = json!({ "id": fresh_id("call_"), "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
    }
}

fn usage(frame: AnswerFrame<'_>, message: &Value) -> Value {
    let (input, output) = frame.tokens(message);
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}
