//! Gemini `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::{
    AnswerFrame, ModelAnswer, ModelRequest, OfferedTool, StreamEvent, content_texts, fresh_id, items, pieces,
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let declared = items(&body["tools"]).flat_map(|tool| items(&tool["functionDeclarations"]));
    let tool = |tool: &Value| {
        let schema =
            if tool["parametersJsonSchema"].is_object() { "parametersJsonSchema" } else { "parameters" };
        OfferedTool::read(tool, schema)
    };
    let mut request = ModelRequest { tools: declared.filter_map(tool).collect(), ..ModelRequest::default() };
    request.add_system(content_texts(&body["systemInstruction"]["parts"]));
    let is_user = |content: &&Value| matches!(content["role"].as_str(), None | Some("user" | "function"));
    for content in items(&body["contents"]).filter(is_user) {
        match items(&content["parts"]).filter(|part| part["functionResponse"].is_object()).count() {
            0 => request.add_texts(content_texts(&content["parts"])),
            results => request.results += results,
        }
    }
    request
}

pub(super) fn whole(frame: AnswerFrame<'_>) -> Value {
    let part = part(frame);
    chunk(frame, &part, &part, true)
}

pub(super) fn stream(frame: AnswerFrame<'_>) -> Vec<StreamEvent> {
    let part = part(frame);
    let Some(text) = part["text"].as_str() else {
        return vec![StreamEvent::new(None, &chunk(frame, &part, &part, true))];
    };
    let pieces = pieces(text);
    let last = pieces.len() - 1;
    let event = |(at, piece): (usize, &str)| {
        StreamEvent::new(None, &chunk(frame, &part, &json!({ "text": piece }), at == last)).piece()
    };
    pieces.into_iter().enumerate().map(event).collect()
}

/// Returns the answer as a part. A request for JSON gets every field that Gemini CLI asks for on the side.
fn part(frame: AnswerFrame<'_>) -> Value {
    let config = &frame.body["generationConfig"];
    let wants_json =
        config["responseMimeType"] == "application/json" || config["responseJsonSchema"].is_object();
    match frame.answer {
        ModelAnswer::Text(_) if wants_json => {
            let fields = json!({
                "reasoning": "stand-in",
                "next_speaker": "user",
                "model_choice": "pro",
                "complexity_score": 80,
                "complexity_reasoning": "stand-in",
            });
            json!({ "text": fields.to_string() })
        }
        ModelAnswer::Text(text) => json!({ "text": text }),
        ModelAnswer::Call { tool, arguments } => json!({
            "functionCall": { "id": fresh_id("fc"), "name": tool.name, "args": arguments },
            "thoughtSignature": "c3RhbmQtaW4=",
        }),
    }
}

fn chunk(frame: AnswerFrame<'_>, whole: &Value, part: &Value, last: bool) -> Value {
    let (input, output) = frame.tokens(whole);
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": [part] } });
    if last {
        candidate["finishReason"] = json!("STOP");
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": input,
            "candidatesTokenCount": output,
            "totalTokenCount": input + output,
        },
        "modelVersion": "stand-in",
        "responseId": fresh_id("r"),
    })
}
