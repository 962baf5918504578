//! Requests as agents send them, and the answers parsed back as agents do.

use super::*;
use crate::standin::decide;
use crate::standin::script::ModelScript;

/// Answers a request as a stream. Returns the events as JSON, parsed from the wire.
fn stream(protocol: ModelProtocol, body: &Value) -> Vec<Value> {
    let request = protocol.read(body);
    let answer = decide::answer(&request, &ModelScript::parse(&request.prompt), body);
    let events = protocol.stream(AnswerFrame { body, answer: &answer });
    let wire: String = events.iter().map(StreamEvent::encoded).collect();
    let mut parsed = Vec::new();
    for block in wire.split_terminator("\n\n") {
        let data = block.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let name = block.lines().find_map(|line| line.strip_prefix("event: "));
        let data: Value = serde_json::from_str(data).unwrap_or_else(|_| json!(data));
        // The APIs that name their events repeat the name in the data.
        assert!(name.is_none_or(|name| data["type"] == name), "{block}");
        parsed.push(data);
    }
    parsed
}

fn whole(protocol: ModelProtocol, body: &Value) -> Value {
    let request = protocol.read(body);
    let answer = decide::answer(&request, &ModelScript::parse(&request.prompt), body);
    protocol.whole(AnswerFrame { body, answer: &answer })
}

fn joined(events: &[Value], piece: impl Fn(&Value) -> Option<&str>) -> String {
    events.iter().filter_map(piece).collect()
}

fn shell_schema() -> Value {
    json!({ "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"] })
}

#[test]
fn anthropic_text_and_tool_calls_are_streamed() {
    let tools = json!([{ "name": "Bash", "input_schema": shell_schema() }]);
    let mut body = json!({ "model": "claude", "stream": true, "tools": tools, "messages": [
        { "role": "user", "content": [
            { "type": "text", "text": "<system-reminder>[[say no]]</system-reminder>" },
            { "type": "text", "text": "[[run ls]] [[say hello world]]" },
        ] },
    ] });
    let events = stream(ModelProtocol::Anthropic, &body);
    assert_eq!(events[0]["message"]["model"], "claude");
    assert_eq!(events[1]["content_block"]["name"], "Bash");
    let input = joined(&events, |event| event["delta"]["partial_json"].as_str());
    assert_eq!(input, r#"{"command":"ls"}"#);
    let stop = &events[events.len() - 2];
    assert_eq!(stop["delta"]["stop_reason"], "tool_use");

    let id = &events[1]["content_block"]["id"];
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id }] }));
    messages.push(json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id }] }));
    let events = stream(ModelProtocol::Anthropic, &body);
    assert_eq!(joined(&events, |event| event["delta"]["text"].as_str()), "hello world");
    assert_eq!(events.last().unwrap()["type"], "message_stop");

    let message = whole(ModelProtocol::Anthropic, &body);
    assert_eq!(
        (&message["content"][0]["text"], &message["stop_reason"]),
        (&json!("hello world"), &json!("end_turn"))
    );
    let request = ModelProtocol::Anthropic.read(&body);
    assert_eq!(
        (request.turns.as_slice(), request.results),
        (&["[[run ls]] [[say hello world]]".to_owned()][..], 1)
    );
}

#[test]
fn a_new_prompt_starts_its_own_script() {
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1" }] });
    let body = json!({ "tools": [{ "name": "Bash", "input_schema": shell_schema() }], "messages": [
        { "role": "user", "content": "[[run ls]]" }, result, { "role": "user", "content": "[[say two]]" },
    ] });
    assert_eq!(whole(ModelProtocol::Anthropic, &body)["content"][0]["text"], "two");
    assert_eq!(ModelProtocol::Anthropic.read(&body).turns, ["[[run ls]]", "[[say two]]"]);
}

#[test]
fn responses_are_streamed() {
    let shell = json!({ "type": "function", "name": "exec_command", "parameters": {
        "properties": { "cmd": { "type": "string" }, "sandbox_permissions": {} },
    } });
    let message = |text: &str| {
        json!({
            "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }],
        })
    };
    let mut body = json!({ "model": "gpt-5", "stream": true, "tools": [shell], "input": [
        message("# AGENTS.md instructions [[say no]]"),
        message("<environment_context>\n<cwd>/tmp</cwd></environment_context>"),
        message("[[ask]] [[run ls]] [[say hello world]]"),
    ] });
    let events = stream(ModelProtocol::Responses, &body);
    let numbers: Vec<_> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let done = &events[events.len() - 2];
    assert_eq!(done["type"], "response.output_item.done");
    let arguments: Value = serde_json::from_str(done["item"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&arguments["cmd"], &arguments["sandbox_permissions"]),
        (&json!("ls"), &json!("require_escalated"))
    );

    let output = json!({ "type": "function_call_output", "call_id": done["item"]["call_id"], "output": "" });
    body["input"].as_array_mut().unwrap().push(output);
    let events = stream(ModelProtocol::Responses, &body);
    let is_delta = |event: &&Value| event["type"] == "response.output_text.delta";
    let text: String = events.iter().filter(is_delta).map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "hello world");
    let completed = events.last().unwrap();
    assert_eq!(completed["response"]["output"][0]["content"][0]["text"], "hello world");
    assert!(completed["response"]["usage"]["total_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn tools_of_a_namespace_are_called_with_it() {
    let shell = json!({ "type": "function", "name": "shell", "parameters": shell_schema() });
    let body = json!({
        "tools": [{ "type": "namespace", "name": "dev", "tools": [shell] }], "input": "[[run ls]]",
    });
    let item = &whole(ModelProtocol::Responses, &body)["output"][0];
    assert_eq!((&item["name"], &item["namespace"]), (&json!("shell"), &json!("dev")));
}

#[test]
fn chat_completions_are_streamed() {
    let function = json!({ "name": "bash", "parameters": shell_schema() });
    let mut body = json!({ "model": "m", "stream": true, "tools": [{ "type": "function", "function": function }],
        "messages": [{ "role": "system", "content": "[[say no]]" }, { "role": "user", "content": "[[run ls]] [[say hi you]]" }] });
    let events = stream(ModelProtocol::Chat, &body);
    assert_eq!(events.last().unwrap(), "[DONE]");
    let call = &events[1]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(call["function"], json!({ "name": "bash", "arguments": r#"{"command":"ls"}"# }));
    assert_eq!(events[2]["choices"][0]["finish_reason"], "tool_calls");
    assert!(events[3]["usage"]["total_tokens"].as_u64().unwrap() > 0);

    let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": "" });
    body["messages"].as_array_mut().unwrap().push(result);
    let events = stream(ModelProtocol::Chat, &body);
    let text = joined(&events, |event| event["choices"][0]["delta"]["content"].as_str());
    assert_eq!(text, "hi you");
    assert_eq!(whole(ModelProtocol::Chat, &body)["choices"][0]["message"]["content"], "hi you");
}

#[test]
fn gemini_is_streamed() {
    let shell = json!({ "name": "run_shell_command", "parametersJsonSchema": shell_schema() });
    let mut body = json!({ "tools": [{ "functionDeclarations": [shell] }],
        "contents": [{ "role": "user", "parts": [{ "text": "[[run ls]] [[say hi you]]" }] }] });
    let events = stream(ModelProtocol::Gemini, &body);
    let call = &events[0]["candidates"][0]["content"]["parts"][0]["functionCall"];
    assert_eq!((&call["name"], &call["args"]), (&json!("run_shell_command"), &json!({ "command": "ls" })));

    let response =
        json!({ "role": "user", "parts": [{ "functionResponse": { "name": "run_shell_command" } }] });
    body["contents"].as_array_mut().unwrap().push(response);
    let events = stream(ModelProtocol::Gemini, &body);
    let text = joined(&events, |event| event["candidates"][0]["content"]["parts"][0]["text"].as_str());
    assert_eq!((text.as_str(), events.len()), ("hi you", 2));
    assert_eq!(events[1]["candidates"][0]["finishReason"], "STOP");
    assert!(events[0]["candidates"][0].get("finishReason").is_none());

    body["generationConfig"] = json!({ "responseMimeType": "application/json" });
    let answer = whole(ModelProtocol::Gemini, &body);
    let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["next_speaker"], "user");
}

#[test]
fn paths_choose_the_protocol_at_any_base() {
    for (path, protocol) in [
        ("/v1/messages", Some(ModelProtocol::Anthropic)),
        ("/base/v1/responses", Some(ModelProtocol::Responses)),
        ("/v1/chat/completions", Some(ModelProtocol::Chat)),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", Some(ModelProtocol::Gemini)),
        ("/v1/messages/count_tokens", None),
    ] {
        assert_eq!(ModelProtocol::of(path), protocol, "{path}");
    }
}

#[test]
fn the_system_prompt_is_read() {
    let message = |role: &str, text: &str| json!({ "role": role, "content": text });
    for (protocol, body) in [
        (ModelProtocol::Anthropic, json!({ "system": [{ "type": "text", "text": "a" }, { "text": "b" }] })),
        (ModelProtocol::Chat, json!({ "messages": [message("system", "a"), message("developer", "b")] })),
        (ModelProtocol::Responses, json!({ "instructions": "a", "input": [message("developer", "b")] })),
        (
            ModelProtocol::Gemini,
            json!({ "systemInstruction": { "parts": [{ "text": "a" }, { "text": "b" }] } }),
        ),
    ] {
        assert_eq!(protocol.read(&body).system, "a\nb", "{protocol:?}");
        assert_eq!(protocol.read(&json!({})).system, "");
    }
}
