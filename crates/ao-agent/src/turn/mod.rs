//! Parses the reports of headless agents on their turn, line by line.
//!
//! An agent that runs for one turn reports what it does on its stdout, most of them as JSON. Each format is parsed into
//! the same few [events](TurnEvent): they prove that a message was taken and that the agent works, and make its log
//! readable for people.

mod acp;
mod app_server;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod render;

use ao_core::Timestamp;
use ao_core::agent_report::{PlanStep, StepState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use render::render;

use crate::line::LINE_MOST;
use crate::text::cut;

/// Most characters of a tool call that are shown.
const DOING_MOST: usize = 200;

/// The language in which a headless agent reports on its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolFormat")]
pub enum TurnFormat {
    /// Plain text for people. Its first line is the agent's first word.
    #[default]
    Text,
    /// `claude -p --output-format stream-json --verbose`, and Qwen Code, which speaks the same.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `opencode run --format json`.
    Opencode,
    /// `gemini --output-format stream-json`.
    Gemini,
    /// The protocol of `codex app-server`.
    AppServer,
    /// The Agent Client Protocol.
    Acp,
}

/// Something that an agent reports on its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// It has read its prompt and begins.
    Began,
    /// The id by which the conversation can be resumed.
    Conversation(String),
    /// It calls a tool.
    Calls { id: String, tool: String, detail: String },
    /// A tool has answered.
    Answered { id: String, text: String },
    /// Its plan, as it stands now.
    Planned(Vec<PlanStep>),
    /// A complete message of the agent.
    Said(String),
    /// The continuation of a message, without a break.
    SaidMore(String),
    /// The turn fails, for this reason.
    Failed(String),
    /// The provider refuses more work.
    Limited { until: Option<Timestamp> },
    /// Its login has ended.
    LoggedOut,
}

impl TurnFormat {
    /// Parses a line. Empty if it is no report in this format.
    pub fn read(self, line: &str) -> Vec<TurnEvent> {
        let line = line.trim();
        let parse = match self {
            TurnFormat::Text if line.is_empty() => return vec![],
            TurnFormat::Text => return vec![TurnEvent::Began, TurnEvent::Said(line.to_owned())],
            TurnFormat::Claude => claude::read,
            TurnFormat::Codex => codex::read,
            TurnFormat::Opencode => opencode::read,
            TurnFormat::Gemini => gemini::read,
            TurnFormat::AppServer => app_server::read,
            TurnFormat::Acp => acp::read,
        };
        if line.len() > LINE_MOST || !line.starts_with('{') {
            return vec![];
        }
        serde_json::from_str(line).map(|value: Value| parse(&value)).unwrap_or_default()
    }
}

/// Returns the text at a JSON pointer, or an empty one.
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a tool call with its most informative argument in one line.
fn call(id: &str, tool: &str, input: Option<&Value>) -> TurnEvent {
    const INFORMATIVE: [&str; 9] = [
        "command",
        "file_path",
        "filePath",
        "absolute_path",
        "path",
        "pattern",
        "query",
        "url",
        "description",
    ];
    let argument = INFORMATIVE.iter().find_map(|key| input?.get(key)?.as_str()).unwrap_or_default();
    let argument = argument.split_whitespace().collect::<Vec<_>>().join(" ");
    TurnEvent::Calls { id: id.to_owned(), tool: cut(tool, DOING_MOST), detail: cut(&argument, DOING_MOST) }
}

/// Returns the steps of a plan, whose text is under one of these keys. The state is a word, or true for a completed step.
fn plan(steps: Option<&Value>, texts: [&str; 2]) -> TurnEvent {
    let step = |step: &Value| PlanStep {
        text: texts.iter().find_map(|key| step.get(key)?.as_str()).unwrap_or_default().to_owned(),
        state: match (step.get("completed").and_then(Value::as_bool), text(step, "/status")) {
            (Some(true), _) | (_, "completed") => StepState::Done,
            (_, "in_progress") => StepState::Running,
            _ => StepState::Pending,
        },
    };
    let steps = steps.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    TurnEvent::Planned(steps.iter().map(step).collect())
}

/// Returns the text of a tool's answer: plain, or in parts.
fn answer(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::TurnEvent::{Began, Conversation, Failed, Limited, LoggedOut, Planned, Said, SaidMore};
    use super::*;

    fn calls(id: &str, tool: &str, detail: &str) -> TurnEvent {
        TurnEvent::Calls { id: id.into(), tool: tool.into(), detail: detail.into() }
    }

    fn answered(id: &str, text: &str) -> TurnEvent {
        TurnEvent::Answered { id: id.into(), text: text.into() }
    }

    /// Recorded from the real programs: Claude Code 2.1.325, Codex 0.166.0, opencode 1.18.33, Gemini CLI 0.61.0, Qwen Code 0.24.4.
    #[test]
    fn output_of_the_real_programs_is_understood() {
        let table: [(TurnFormat, &str, Vec<TurnEvent>); 29] = [
            (
                TurnFormat::Claude,
                r#"{"type":"system","subtype":"init","cwd":"/r","session_id":"ceda","tools":["Bash"],"model":"m"}"#,
                vec![Conversation("ceda".into()), Began],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"echo hi","description":"step"}}]}}"#,
                vec![calls("t", "Bash", "echo hi")],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"hi","is_error":false}]}}"#,
                vec![answered("t", "hi")],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"DONE"}]}}"#,
                vec![Said("DONE".into())],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794891254,"rateLimitType":"five_hour"}}"#,
                vec![Limited { until: Some(Timestamp(1_794_891_254_000)) }],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1794891254}}"#,
                vec![],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"API Error: 400 bad"}"#,
                vec![Failed("API Error: 400 bad".into())],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: Request rejected (429)"}"#,
                vec![Failed("API Error: Request rejected (429)".into()), Limited { until: None }],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found with session ID: 1"]}"#,
                vec![Failed("No conversation found with session ID: 1".into())],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"result","subtype":"success","is_error":false,"result":"DONE"}"#,
                vec![],
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: 401"}"#,
                vec![Failed("API Error: 401".into()), LoggedOut],
            ),
            (
                TurnFormat::Codex,
                r#"{"type":"thread.started","thread_id":"01a1"}"#,
                vec![Conversation("01a1".into())],
            ),
            (TurnFormat::Codex, r#"{"type":"turn.started"}"#, vec![Began]),
            (
                TurnFormat::Codex,
                r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/usr/bin/bash -lc 'echo hi'","status":"in_progress"}}"#,
                vec![calls("item_1", "", "/usr/bin/bash -lc 'echo hi'")],
            ),
            (
                TurnFormat::Codex,
                r#"{"type":"turn.failed","error":{"message":"stand-in error 400"}}"#,
                vec![Failed("stand-in error 400".into())],
            ),
            (
                TurnFormat::Opencode,
                r#"{"type":"step_start","sessionID":"ses_e1","part":{"type":"step-start"}}"#,
                vec![Conversation("ses_e1".into()), Began],
            ),
            (
                TurnFormat::Opencode,
                r#"{"type":"tool_use","sessionID":"ses_e1","part":{"type":"tool","tool":"bash","state":{"status":"completed","input":{"command":"echo hi"},"output":"hi\n"}}}"#,
                vec![calls("", "bash", "echo hi"), answered("", "hi\n")],
            ),
            (
                TurnFormat::Opencode,
                r#"{"type":"text","sessionID":"ses_e1","part":{"type":"text","text":"DONE"}}"#,
                vec![Said("DONE".into())],
            ),
            (
                TurnFormat::Gemini,
                r#"{"type":"init","session_id":"cb04","model":"gemini-2.5-pro"}"#,
                vec![Conversation("cb04".into()), Began],
            ),
            (
                TurnFormat::Gemini,
                r#"{"type":"message","role":"assistant","content":"DONE: ","delta":true}"#,
                vec![SaidMore("DONE: ".into())],
            ),
            (
                TurnFormat::Gemini,
                r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"1","parameters":{"command":"echo hi"}}"#,
                vec![calls("1", "run_shell_command", "echo hi")],
            ),
            (TurnFormat::Gemini, r#"{"type":"message","role":"user","content":"the prompt"}"#, vec![]),
            (
                TurnFormat::Claude,
                r#"{"type":"user","isReplay":true,"message":{"role":"user","content":[{"type":"text","text":"the prompt"}]}}"#,
                vec![],
            ),
            (
                TurnFormat::AppServer,
                r#"{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c","command":"/usr/bin/bash -lc 'echo hi'","status":"inProgress"}}}"#,
                vec![calls("c", "", "/usr/bin/bash -lc 'echo hi'")],
            ),
            (
                TurnFormat::AppServer,
                r#"{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"done"}}}"#,
                vec![Said("done".into())],
            ),
            (
                TurnFormat::AppServer,
                r#"{"method":"turn/completed","params":{"turn":{"id":"t","status":"failed","error":{"message":"stand-in error 400"}}}}"#,
                vec![Failed("stand-in error 400".into())],
            ),
            (
                TurnFormat::Acp,
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"}}}}"#,
                vec![SaidMore("done".into())],
            ),
            (
                TurnFormat::Acp,
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","title":"echo hi","content":[{"type":"content","content":{"type":"text","text":"hi"}}]}}}"#,
                vec![calls("c", "", "echo hi"), answered("c", "hi")],
            ),
            (
                TurnFormat::Acp,
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"details":"401 stand-in error 401"}}}"#,
                vec![Failed("401 stand-in error 401".into())],
            ),
        ];
        for (format, line, events) in table {
            assert_eq!(format.read(line), events, "{format:?} {line}");
        }
    }

    #[test]
    fn plans_are_understood() {
        let plan = |states: [StepState; 2]| {
            let step = |(text, state): (&str, StepState)| PlanStep { text: text.into(), state };
            vec![Planned(["test", "fix"].into_iter().zip(states).map(step).collect())]
        };
        for (format, line, expected) in [
            (
                TurnFormat::Codex,
                r#"{"type":"item.updated","item":{"id":"i","type":"todo_list","items":[{"text":"test","completed":true},{"text":"fix","completed":false}]}}"#,
                plan([StepState::Done, StepState::Pending]),
            ),
            (
                TurnFormat::Claude,
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"TodoWrite","input":{"todos":[{"content":"test","status":"completed","activeForm":"testing"},{"content":"fix","status":"in_progress","activeForm":"fixing"}]}}]}}"#,
                plan([StepState::Done, StepState::Running]),
            ),
        ] {
            assert_eq!(format.read(line), expected, "{line}");
        }
    }

    #[test]
    fn other_output_is_no_report() {
        for line in ["Reading additional input from stdin...", "", "{", "[1]", r#"{"type":7}"#] {
            assert_eq!(TurnFormat::Codex.read(line), vec![], "{line}");
        }
        assert_eq!(TurnFormat::Text.read(" hi "), vec![Began, Said("hi".into())]);
    }
}
