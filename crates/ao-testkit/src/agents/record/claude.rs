//! The two-way `stream-json` protocol of Claude Code.

use std::io;

use serde_json::{Value, json};

use super::{RecordedStory, RecordedTalk, StoryTurn, await_request, known};
use crate::agents::agent_box::AgentBox;

const ARGS: &[&str] = &[
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--permission-mode",
    "default",
    "--replay-user-messages",
];

pub(super) fn open(story: &RecordedStory) -> io::Result<(AgentBox, RecordedTalk)> {
    let agent_box = AgentBox::open(&[known("claude-code")])?;
    let mut command = agent_box.command("env", [""; 0]);
    if story.name == "limit" {
        // Only a login has usage limits; a key has none.
        command.args(["-u", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN=test-token"]);
    }
    command.arg("claude").args(ARGS);
    let talk = RecordedTalk::start(command)?;
    Ok((agent_box, talk))
}

pub(super) fn play(
    story: &RecordedStory,
    agent_box: &AgentBox,
    talk: &mut RecordedTalk,
) -> Result<(), String> {
    let initialize = json!({ "subtype": "initialize", "hooks": null });
    talk.send(&json!({ "type": "control_request", "request_id": "r1", "request": initialize }))?;
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": story.prompt }] });
    let uuid = "aaaaaaaa-0000-4000-8000-000000000001";
    talk.send(&json!({ "type": "user", "uuid": uuid, "message": message }))?;
    if story.turn == StoryTurn::Interrupt {
        await_request(agent_box)?;
        let interrupt = json!({ "subtype": "interrupt" });
        talk.send(&json!({ "type": "control_request", "request_id": "r2", "request": interrupt }))?;
    }
    let mut results = 0;
    while let Some(message) = talk.next()? {
        let request = &message["request"];
        if message["type"] == "control_request" && request["subtype"] == "can_use_tool" {
            let response = json!({
                "subtype": "success",
                "request_id": message["request_id"],
                "response": decision(story, request),
            });
            talk.send(&json!({ "type": "control_response", "response": response }))?;
        }
        results += usize::from(message["type"] == "result");
        let wanted = if story.turn == StoryTurn::Background { 2 } else { 1 };
        let retried = story.turn == StoryTurn::UntilRetry && message["subtype"] == "api_retry";
        if results == wanted || retried {
            return Ok(());
        }
    }
    Err("the agent ended".into())
}

fn decision(story: &RecordedStory, request: &Value) -> Value {
    if story.turn == StoryTurn::Deny {
        return json!({ "behavior": "deny", "message": "no" });
    }
    let mut input = request["input"].clone();
    if let Some(question) = input["questions"][0]["question"].as_str().map(str::to_owned) {
        input["answers"] = json!({ question: input["questions"][0]["options"][0]["label"] });
    } else if story.name != "allowed" {
        // The input is not changed, so it need not be repeated.
        return json!({ "behavior": "allow" });
    }
    json!({ "behavior": "allow", "updatedInput": input })
}
