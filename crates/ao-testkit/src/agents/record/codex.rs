//! The app-server of Codex.

use std::io;

use serde_json::{Value, json};

use super::{RecordedStory, RecordedTalk, StoryTurn, await_request, known};
use crate::agents::agent_box::AgentBox;

pub(super) fn open() -> io::Result<(AgentBox, RecordedTalk)> {
    let agent_box = AgentBox::open(&[known("codex")])?;
    let talk = RecordedTalk::start(agent_box.command("codex", ["app-server"]))?;
    Ok((agent_box, talk))
}

pub(super) fn play(
    story: &RecordedStory,
    agent_box: &AgentBox,
    talk: &mut RecordedTalk,
) -> Result<(), String> {
    let client = json!({ "name": "ao", "title": "ao", "version": "0" });
    call(
        talk,
        1,
        "initialize",
        json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } }),
    )?;
    talk.send(&json!({ "method": "initialized" }))?;
    let start = json!({ "cwd": agent_box.path("work"), "approvalPolicy": "on-request", "sandbox": "workspace-write" });
    let thread = call(talk, 2, "thread/start", start)?["result"]["thread"]["id"].clone();
    let input = json!([{ "type": "text", "text": story.prompt }]);
    let turn = json!({ "threadId": thread, "input": input, "clientUserMessageId": "ao-1" });
    let turn = call(talk, 3, "turn/start", turn)?["result"]["turn"]["id"].clone();
    if story.turn == StoryTurn::Interrupt {
        await_request(agent_box)?;
        let params = json!({ "threadId": thread, "turnId": turn });
        talk.send(&json!({ "id": 4, "method": "turn/interrupt", "params": params }))?;
    }
    while let Some(message) = talk.next()? {
        if message["method"].is_string() && !message["id"].is_null() {
            talk.send(&json!({ "id": message["id"], "result": decision(story, &message) }))?;
        }
        let retried = story.turn == StoryTurn::UntilRetry && message["params"]["willRetry"] == true;
        if message["method"] == "turn/completed" || retried {
            return Ok(());
        }
    }
    Err("the agent ended".into())
}

fn decision(story: &RecordedStory, message: &Value) -> Value {
    if let Some(id) = message["params"]["questions"][0]["id"].as_str() {
        let label = &message["params"]["questions"][0]["options"][0]["label"];
        return json!({ "answers": { id: { "answers": [label] } } });
    }
    json!({ "decision": if story.turn == StoryTurn::Deny { "decline" } else { "accept" } })
}

fn call(talk: &mut RecordedTalk, id: u64, method: &str, params: Value) -> Result<Value, String> {
    talk.send(&json!({ "id": id, "method": method, "params": params }))?;
    while let Some(message) = talk.next()? {
        if message["id"] == id && message["method"].is_null() {
            return if message["error"].is_null() { Ok(message) } else { Err(message.to_string()) };
        }
    }
    Err(format!("the agent ended in {method}"))
}
