//! Anthropic messages.

use serde_json::{Value, json};

use super::{
    AnswerFrame, ModelAnswer, ModelRequest, OfferedTool, StreamEvent, content_texts, fresh_id, items, pieces,
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let mut request = ModelRequest {
        tools: items(&body["tools"]).filter_map(|tool| OfferedTool::read(tool, "input_schema")).collect(),
        ..ModelRequest::default()
    };
    request.add_system(content_texts(&body["system"]));
    for message in items(&body["messages"]).filter(|message| message["role"] == "user") {
        let content = &message["content"];
        match items(content).filter(|part| part["type"] == "tool_result").count() {
            0 => request.add_texts(content_texts(content)),
            results => request.results += results,
        }
    }
    request
}

pub(super) fn whole(frame: AnswerFrame<'_>) -> Value {
    let (block, stop) = block(frame.answer);
    let (input, output) = frame.tokens(&block);
    let mut message = message(frame, input, output);
    message["content"] = json!([block]);
    message["stop_reason"] = json!(stop);
    message
}

pub(super) fn stream(frame: AnswerFrame<'_>) -> Vec<StreamEvent> {
    let (block, stop) = block(frame.answer);
    let (input, output) = frame.tokens(&block);
    let delta = |delta: Value| {
        let data = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        StreamEvent::named("content_block_delta", &data)
    };
    let mut empty = block;
    let deltas: Vec<StreamEvent> = match frame.answer {
        ModelAnswer::Text(text) => {
            empty["text"] = json!("");
            let piece = |piece| delta(json!({ "type": "text_delta", "text": piece })).piece();
            pieces(text).into_iter().map(piece).collect()
        }
        ModelAnswer::Call { arguments, .. } => {
            empty["input"] = json!({});
            vec![delta(json!({ "type": "input_json_delta", "partial_json": arguments.to_string() }))]
        }
    };
    let event = |name: &'static str, mut data: Value| {
        data["type"] = json!(name);
        StreamEvent::named(name, &data)
    };
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    let mut events = vec![
        event("message_start", json!({ "message": message(frame, input, 1) })),
        event("content_block_start", json!({ "index": 0, "content_block": empty })),
    ];
    events.extend(deltas);
    events.extend([
        event("content_block_stop", json!({ "index": 0 })),
        event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": output } })),
        event("message_stop", json!({})),
    ]);
    events
}

fn block(answer: &ModelAnswer) -> (Value, &'static str) {
    match answer {
        ModelAnswer::Text(text) => (json!({ "type": "text", "text": text }), "end_turn"),
        ModelAnswer::Call { tool, arguments } => (
            json!({ "type": "tool_use", "id": fresh_id("toolu_"), "name": tool.name, "input": arguments }),
            "tool_use",
        ),
    }
}

fn message(frame: AnswerFrame<'_>, input: usize, output: usize) -> Value {
    json!({
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": frame.model(),
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": input,
            "output_tokens": output,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    })
}
