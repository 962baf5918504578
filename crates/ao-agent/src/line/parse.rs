//! Parses one line of an agent.

use ao_core::Timestamp;
use ao_core::ask::{AskDetail, AskOption};
use ao_core::evidence::Reading;
use serde::Deserialize;

use crate::text::cut;

/// Longer lines are skipped. The longest message that can be delivered fits, however it is escaped, and so does a request for
/// permission with a diff of a megabyte.
pub const LINE_MOST: usize = 2 * 1024 * 1024;
/// Most characters of a description of the agent's work; it is shown, not sent on.
const DOING_MOST: usize = 200;
/// Most characters of a question; a person has to be able to read all of it.
const QUESTION_MOST: usize = 4000;

/// A message of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "ao", rename_all = "snake_case")]
pub enum ProtocolLine {
    /// It has started.
    Started,
    /// It took this text as a user turn.
    Taken {
        /// The number that the message came with.
        delivery: Option<u32>,
        text: String,
    },
    /// It works.
    Working {
        #[serde(default)]
        doing: String,
    },
    /// It waits for a message.
    Idle,
    /// It waits for an answer.
    Asking {
        question: String,
        /// Its own id of the question, by which it is answered. Without one, the question is closed by the next line about
        /// its state.
        #[serde(default)]
        ask: Option<String>,
        #[serde(default)]
        details: Vec<AskDetail>,
        #[serde(default)]
        options: Vec<AskOption>,
    },
    /// It no longer waits for that answer.
    AskClosed { ask: String },
    /// It has written this to its user.
    Reply { text: String },
    /// It cannot go on.
    Blocked {
        #[serde(default)]
        on: String,
    },
    /// The provider refuses more work.
    Limited {
        /// The end of the limit, in milliseconds since the Unix epoch.
        until: Option<i64>,
    },
    /// It was not allowed to make a tool call.
    Denied {
        tool: String,
        /// Its own id of the call, which is unique within the session.
        call: Option<String>,
    },
    /// The total that this process has used up so far.
    Spent {
        micros: Option<u64>,
        tokens: Option<u64>,
        #[serde(default)]
        turns: u64,
        #[serde(default)]
        seconds: u64,
    },
}

/// Parses a line. Returns `None` if it is not part of the protocol: other output, a later version's, truncated, or too
/// long.
pub fn parse_line(line: &str) -> Option<ProtocolLine> {
    let line = line.trim();
    // The first byte rules out most of what programs print.
    if line.len() > LINE_MOST || !line.starts_with('{') {
        return None;
    }
    let mut parsed: ProtocolLine = serde_json::from_str(line).ok()?;
    match &mut parsed {
        ProtocolLine::Working { doing: text } | ProtocolLine::Blocked { on: text } => {
            *text = cut(text, DOING_MOST);
        }
        ProtocolLine::Denied { tool, .. } => *tool = cut(tool, DOING_MOST),
        ProtocolLine::Asking { question, .. } => *question = cut(question, QUESTION_MOST),
        _ => {}
    }
    Some(parsed)
}

/// Returns the tool calls that were denied in a turn, if the line is Claude Code's JSON result at the end of a turn.
///
/// Nothing else reports them if no person is asked for permission: no hook is run, and the exit code is 0.
pub fn denials(line: &str) -> Vec<ProtocolLine> {
    #[derive(Deserialize)]
    struct TurnOver {
        #[serde(rename = "type")]
        kind: String,
        permission_denials: Vec<Call>,
    }
    #[derive(Deserialize)]
    struct Call {
        tool_name: String,
        tool_use_id: Option<String>,
    }
    let line = line.trim();
    if line.len() > LINE_MOST || !line.starts_with('{') || !line.contains("\"permission_denials\"") {
        return vec![];
    }
    let Ok(over) = serde_json::from_str::<TurnOver>(line) else { return vec![] };
    let denied =
        |call: Call| ProtocolLine::Denied { tool: cut(&call.tool_name, DOING_MOST), call: call.tool_use_id };
    if over.kind == "result" { over.permission_denials.into_iter().map(denied).collect() } else { vec![] }
}

impl ProtocolLine {
    /// Returns the reading of the agent's state, if the line has one.
    pub fn reading(&self) -> Option<Reading> {
        Some(match self {
            ProtocolLine::Started => Reading::Started,
            ProtocolLine::Working { doing } => Reading::Working { doing: doing.clone() },
            ProtocolLine::Idle => Reading::Idle,
            ProtocolLine::Blocked { on } => Reading::Blocked { on: on.clone() },
            ProtocolLine::Limited { until } => Reading::Limited { until: until.map(Timestamp) },
            ProtocolLine::Taken { .. }
            | ProtocolLine::Asking { .. }
            | ProtocolLine::AskClosed { .. }
            | ProtocolLine::Reply { .. }
            | ProtocolLine::Spent { .. }
            | ProtocolLine::Denied { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use ao_core::ask::OptionKind;
    use proptest::prelude::*;

    use super::*;

    fn asking(ask: Option<&str>, options: Vec<AskOption>) -> ProtocolLine {
        let ask = ask.map(str::to_owned);
        ProtocolLine::Asking { question: "May I?".into(), ask, details: vec![], options }
    }

    fn yes() -> AskOption {
        AskOption { id: "y".into(), label: "Yes".into(), kind: OptionKind::AllowOnce }
    }

    #[test]
    fn each_line_of_the_protocol_is_understood() {
        for (line, expected) in [
            (r#"{"ao":"started"}"#, ProtocolLine::Started),
            (
                r#"{"ao":"taken","delivery":3,"text":"go"}"#,
                ProtocolLine::Taken { delivery: Some(3), text: "go".into() },
            ),
            (r#"{"text":"go","ao":"taken"}"#, ProtocolLine::Taken { delivery: None, text: "go".into() }),
            (r#" {"ao":"working","doing":"tests"} "#, ProtocolLine::Working { doing: "tests".into() }),
            (r#"{"ao":"working"}"#, ProtocolLine::Working { doing: String::new() }),
            (r#"{"ao":"idle","since":7}"#, ProtocolLine::Idle),
            (r#"{"ao":"asking","question":"May I?"}"#, asking(None, vec![])),
            (
                r#"{"ao":"asking","ask":"7","question":"May I?","options":[{"id":"y","label":"Yes","kind":"allow_once"}]}"#,
                asking(Some("7"), vec![yes()]),
            ),
            (r#"{"ao":"ask_closed","ask":"7"}"#, ProtocolLine::AskClosed { ask: "7".into() }),
            (r#"{"ao":"reply","text":"Done."}"#, ProtocolLine::Reply { text: "Done.".into() }),
            (r#"{"ao":"blocked","on":"a key"}"#, ProtocolLine::Blocked { on: "a key".into() }),
            (r#"{"ao":"limited","until":5}"#, ProtocolLine::Limited { until: Some(5) }),
            (
                r#"{"ao":"denied","tool":"Bash","call":"c1"}"#,
                ProtocolLine::Denied { tool: "Bash".into(), call: Some("c1".into()) },
            ),
            (
                r#"{"ao":"spent","micros":12,"turns":1}"#,
                ProtocolLine::Spent { micros: Some(12), tokens: None, turns: 1, seconds: 0 },
            ),
        ] {
            assert_eq!(parse_line(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn denied_calls_are_read_from_claude_codes_result() {
        let over = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","permission_denials":[
            {"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"make"}},
            {"tool_name":"Write","tool_use_id":"toolu_2","tool_input":{"file_path":"a"}}]}"#;
        let denied =
            |tool: &str, call: &str| ProtocolLine::Denied { tool: tool.into(), call: Some(call.into()) };
        assert_eq!(denials(&over.replace('\n', "")), [denied("Bash", "toolu_1"), denied("Write", "toolu_2")]);
        for line in [
            r#"{"type":"result","permission_denials":[]}"#,
            r#"{"type":"user","permission_denials":[{"tool_name":"Bash"}]}"#,
            r#"{"type":"result","result":"\"permission_denials\""}"#,
            r#"say "permission_denials""#,
        ] {
            assert_eq!(denials(line), [], "{line}");
        }
    }

    #[test]
    fn anything_else_is_passed_over() {
        for line in [
            "",
            "compiling…",
            "{",
            "{}",
            "[]",
            "idle",
            r#"{"ao":"idle""#,
            r#"{"ao":"dancing"}"#,
            r#"{"ao":7}"#,
            r#"{"ao":"asking"}"#,
            r#"{"ao":"taken","text":7}"#,
            r#"{"level":"info","message":"{\"ao\":\"idle\"}"}"#,
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
        let long = format!(r#"{{"ao":"working","doing":"{}"}}"#, "x".repeat(LINE_MOST));
        assert_eq!(parse_line(&long), None);
    }

    #[test]
    fn shown_texts_are_bounded() {
        let line = format!(r#"{{"ao":"working","doing":"{}"}}"#, "ü".repeat(1000));
        let Some(ProtocolLine::Working { doing }) = parse_line(&line) else { panic!() };
        assert_eq!(doing.chars().count(), DOING_MOST + 1);
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in "(\\PC|[{}\":\\\\\n])*") {
            let _ = parse_line(&line);
            let _ = parse_line(&format!("{{\"ao\":\"taken\",{line}}}"));
        }
    }
}
