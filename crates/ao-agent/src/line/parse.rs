//! What an agent says, read from one line.

use ao_core::Timestamp;
use ao_core::budget::Spend;
use ao_core::evidence::Reading;
use serde::Deserialize;

use crate::text::cut;

/// Longer lines are passed over. A message of the most bytes that a delivery may have fits, however it is escaped.
pub const LINE_MOST: usize = 256 * 1024;
/// The most of a word about what the agent does; it is shown, not sent on.
const DOING_MOST: usize = 200;
/// The most of a question; a person has to be able to read all of it.
const QUESTION_MOST: usize = 4000;

/// Something an agent says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "ao", rename_all = "snake_case")]
pub enum Line {
    /// It has come up.
    Started,
    /// It took this text as a turn of the user's.
    Taken {
        /// The number that the message came with.
        delivery: Option<u32>,
        text: String,
    },
    Working {
        #[serde(default)]
        doing: String,
    },
    Idle,
    Asking {
        question: String,
    },
    Blocked {
        #[serde(default)]
        on: String,
    },
    /// The provider refuses more work.
    Limited {
        /// Until then, in milliseconds since the Unix epoch.
        until: Option<i64>,
    },
    /// It was not allowed to make a call of a tool.
    Denied {
        tool: String,
        /// Its own name for the call, which no other call of the session has.
        call: Option<String>,
    },
    /// What this process has used up so far, in all.
    Spent {
        micros: Option<u64>,
        tokens: Option<u64>,
        #[serde(default)]
        turns: u64,
        #[serde(default)]
        seconds: u64,
    },
}

/// Reads a line. `None` if it is none of the protocol: other output, a later version's, cut off, or too long.
pub fn parse_line(line: &str) -> Option<Line> {
    let line = line.trim();
    // Most of what programs print is told apart by its first byte.
    if line.len() > LINE_MOST || !line.starts_with('{') {
        return None;
    }
    let mut said: Line = serde_json::from_str(line).ok()?;
    match &mut said {
        Line::Working { doing: text } | Line::Blocked { on: text } => *text = cut(text, DOING_MOST),
        Line::Denied { tool, .. } => *tool = cut(tool, DOING_MOST),
        Line::Asking { question } => *question = cut(question, QUESTION_MOST),
        _ => {}
    }
    Some(said)
}

/// The calls that were denied in a turn, if the line is what Claude Code says at a turn's end when it is asked for JSON.
///
/// Nothing else tells of them where nobody is asked for permission: no hook is run, and the exit code is 0.
pub fn denials(line: &str) -> Vec<Line> {
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
    let denied = |call: Call| Line::Denied { tool: cut(&call.tool_name, DOING_MOST), call: call.tool_use_id };
    if over.kind == "result" { over.permission_denials.into_iter().map(denied).collect() } else { vec![] }
}

impl Line {
    /// What it says about the agent, if it says that.
    pub fn reading(&self) -> Option<Reading> {
        Some(match self {
            Line::Started => Reading::Started,
            Line::Working { doing } => Reading::Working { doing: doing.clone() },
            Line::Idle => Reading::Idle,
            Line::Asking { question } => Reading::Asking { question: question.clone() },
            Line::Blocked { on } => Reading::Blocked { on: on.clone() },
            Line::Limited { until } => Reading::Limited { until: until.map(Timestamp) },
            Line::Taken { .. } | Line::Spent { .. } | Line::Denied { .. } => return None,
        })
    }

    /// What was used up, if it says that.
    pub fn spend(&self) -> Option<Spend> {
        match *self {
            Line::Spent { micros, tokens, turns, seconds } => Some(Spend { micros, tokens, turns, seconds }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_word_of_the_protocol_is_understood() {
        for (line, expected) in [
            (r#"{"ao":"started"}"#, Line::Started),
            (
                r#"{"ao":"taken","delivery":3,"text":"go"}"#,
                Line::Taken { delivery: Some(3), text: "go".into() },
            ),
            (r#"{"text":"go","ao":"taken"}"#, Line::Taken { delivery: None, text: "go".into() }),
            (r#" {"ao":"working","doing":"tests"} "#, Line::Working { doing: "tests".into() }),
            (r#"{"ao":"working"}"#, Line::Working { doing: String::new() }),
            (r#"{"ao":"idle","since":7}"#, Line::Idle),
            (r#"{"ao":"asking","question":"May I?"}"#, Line::Asking { question: "May I?".into() }),
            (r#"{"ao":"blocked","on":"a key"}"#, Line::Blocked { on: "a key".into() }),
            (r#"{"ao":"limited","until":5}"#, Line::Limited { until: Some(5) }),
            (
                r#"{"ao":"denied","tool":"Bash","call":"c1"}"#,
                Line::Denied { tool: "Bash".into(), call: Some("c1".into()) },
            ),
            (
                r#"{"ao":"spent","micros":12,"turns":1}"#,
                Line::Spent { micros: Some(12), tokens: None, turns: 1, seconds: 0 },
            ),
        ] {
            assert_eq!(parse_line(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_claude_code_was_denied_in_a_turn_is_read_off_its_last_word() {
        let over = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","permission_denials":[
            {"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"make"}},
            {"tool_name":"Write","tool_use_id":"toolu_2","tool_input":{"file_path":"a"}}]}"#;
        let denied = |tool: &str, call: &str| Line::Denied { tool: tool.into(), call: Some(call.into()) };
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
    fn what_is_shown_is_bounded() {
        let line = format!(r#"{{"ao":"working","doing":"{}"}}"#, "ü".repeat(1000));
        let Some(Line::Working { doing }) = parse_line(&line) else { panic!() };
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
