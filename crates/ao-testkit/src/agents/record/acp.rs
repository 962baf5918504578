//! The Agent Client Protocol.

use std::io;

use serde_json::{Value, json};

use super::{RecordedStory, RecordedTalk, StoryTurn, await_request};
use crate::agents::agent_box::AgentBox;
use crate::agents::catalog::RealAgent;

pub(super) fn open(agent: &RealAgent) -> io::Result<(AgentBox, RecordedTalk)> {
    let agent_box = AgentBox::open(&[agent])?;
    let flag = if agent.name == "opencode" { "acp" } else { "--acp" };
    if agent.name == "opencode" {
        // It asks for nothing by default.
        let file = "home/.config/opencode/opencode.json";
        let mut config: Value = serde_json::from_str(&std::fs::read_to_string(agent_box.path(file))?)?;
        config["permission"] = json!({ "bash": "ask", "edit": "ask" });
        agent_box.write(file, &config.to_string())?;
    }
    let talk = RecordedTalk::start(agent_box.command(agent.command, [flag]))?;
    Ok((agent_box, talk))
}

pub(super) fn play(
    story: &RecordedStory,
    agent_box: &AgentBox,
    talk: &mut RecordedTalk,
) -> Result<(), String> {
    let client = json!({ "name": "ao", "title": "ao", "version": "0" });
    let files = json!({ "readTextFile": false, "writeTextFile": false });
    let abilities = json!({ "fs": files, "terminal": false });
    let initialize = json!({ "protocolVersion": 1, "clientCapabilities": abilities, "clientInfo": client });
    call(story, talk, 1, "initialize", initialize)?;
    let new = json!({ "cwd": agent_box.path("work"), "mcpServers": [] });
    let session = call(story, talk, 2, "session/new", new)?["result"]["sessionId"].clone();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": story.prompt }] });
    if story.turn == StoryTurn::Interrupt {
        talk.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt }))?;
        await_request(agent_box)?;
        let params = json!({ "sessionId": session });
        talk.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))?;
        return answer(story, talk, 3).map(drop);
    }
    call(story, talk, 3, "session/prompt", prompt).map(drop)
}

fn call(
    story: &RecordedStory,
    talk: &mut RecordedTalk,
    id: u64,
    method: &str,
    params: Value,
) -> Result<Value, String> {
    talk.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
    answer(story, talk, id)
}

/// Returns the answer to a request. Permissions that the agent asks for meanwhile are given or denied.
fn answer(story: &RecordedStory, talk: &mut RecordedTalk, id: u64) -> Result<Value, String> {
    while let Some(message) = talk.next()? {
        if message["id"] == id && message["method"].is_null() {
            return Ok(message);
        }
        if message["method"] == "session/request_permission" {
            let wanted = if story.turn == StoryTurn::Deny { "reject_once" } else { "allow_once" };
            let options = message["params"]["options"].as_array().ok_or("a permission without options")?;
            let option = options.iter().find(|option| option["kind"] == wanted).or(options.first());
            let option = option.map(|option| &option["optionId"]);
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            talk.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }))?;
        } else if message["method"].is_string() && !message["id"].is_null() {
            let error = json!({ "code": -32601, "message": "method not found" });
            talk.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }))?;
        }
        let update = &message["params"]["update"];
        if story.turn == StoryTurn::UntilRetry && update["_meta"].to_string().contains("retry") {
            return Ok(message);
        }
    }
    Err("the agent ended".into())
}
