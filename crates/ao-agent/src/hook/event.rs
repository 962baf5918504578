//! What a hook's event means, whoever's it is. The names are data, because agents agree on little else.

use ao_core::evidence::Reading;
use serde_json::Value;

use crate::text::cut;

/// The most of a word about what the agent does; it is shown, not sent on.
const DOING_MOST: usize = 200;
/// The most of a question; a person has to be able to read all of it.
const QUESTION_MOST: usize = 4000;

/// What an event tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// The text that the agent took as a user's turn.
    pub taken: Option<String>,
    pub reading: Option<Reading>,
    /// Whether the reading is told once more, in words that say less than those of the first time.
    pub reminder: bool,
    /// A call of a tool that the agent was not allowed to make.
    pub denied: Option<Denial>,
}

/// A call that was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The agent's own name for the call, if it has one.
    pub call: Option<String>,
    pub tool: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Started,
    /// A user's turn begins, and the payload has its text.
    Taken,
    /// A tool call begins.
    Tool,
    Working(&'static str),
    /// A tool call is over; the payload may say that it was not allowed.
    ToolOver,
    Denied,
    Asking,
    Idle,
    /// The payload says which.
    Notification,
    /// Tells nothing that we want: the end of a session is also told when a conversation is cleared, and the process says
    /// better whether it has ended.
    Nothing,
}

/// Every event we know, in small letters and without marks between words, since one agent's `PreToolUse` is another's
/// `preToolUse` or `pre_tool_use`.
const EVENTS: &[(&str, Meaning)] = &[
    // Claude Code, Codex, Qwen Code.
    ("sessionstart", Meaning::Started),
    ("userpromptsubmit", Meaning::Taken),
    ("pretooluse", Meaning::Tool),
    ("permissionrequest", Meaning::Asking),
    ("permissiondenied", Meaning::Denied),
    ("posttooluse", Meaning::ToolOver),
    ("posttoolusefailure", Meaning::ToolOver),
    ("subagentstart", Meaning::Working("a helper")),
    ("subagentstop", Meaning::Working("")),
    ("precompact", Meaning::Working("making the conversation shorter")),
    ("notification", Meaning::Notification),
    ("stop", Meaning::Idle),
    ("sessionend", Meaning::Nothing),
    // Gemini CLI.
    ("beforeagent", Meaning::Taken),
    ("beforemodel", Meaning::Working("")),
    ("aftermodel", Meaning::Working("")),
    ("beforetool", Meaning::Tool),
    ("aftertool", Meaning::Working("")),
    ("afteragent", Meaning::Idle),
    ("precompress", Meaning::Working("making the conversation shorter")),
    // Copilot CLI.
    ("userpromptsubmitted", Meaning::Taken),
    ("agentstop", Meaning::Idle),
    // Codex's `notify`, which is older than its hooks.
    ("agentturncomplete", Meaning::Idle),
    ("approvalrequested", Meaning::Asking),
];

/// The kinds of notification, and words by which those without a kind are known.
const NOTIFICATIONS: &[(&str, &str, Meaning)] = &[
    ("permissionprompt", "permission", Meaning::Asking),
    ("elicitationdialog", "asks", Meaning::Asking),
    // A reminder that comes a minute after the turn has ended. It asks for nothing.
    ("idleprompt", "waiting for your input", Meaning::Idle),
];

/// Says what an event means. `named` is the event's name as the hook's command line has it, for payloads that lack it.
///
/// What is not known tells nothing: a later version of an agent may have events of any name.
pub fn understand(named: Option<&str>, payload: &Value) -> Told {
    let name = text(payload, &["hook_event_name", "hookEventName", "event", "type"]).or(named).unwrap_or("");
    let name = plain(name);
    let meaning = EVENTS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    tell(meaning.unwrap_or(Meaning::Nothing), payload)
}

fn tell(meaning: Meaning, payload: &Value) -> Told {
    let reading = match meaning {
        Meaning::Nothing => return Told::default(),
        Meaning::Started => Reading::Started,
        Meaning::Idle => Reading::Idle,
        Meaning::Working(doing) => Reading::Working { doing: doing.into() },
        Meaning::ToolOver if !was_denied(payload) => Reading::Working { doing: String::new() },
        // It goes on without the tool, or says that it cannot.
        Meaning::ToolOver | Meaning::Denied => {
            let reading = Some(Reading::Working { doing: String::new() });
            return Told { reading, denied: Some(denial(payload)), ..Told::default() };
        }
        Meaning::Tool => Reading::Working { doing: cut(&tool(payload), DOING_MOST) },
        Meaning::Asking => Reading::Asking { question: cut(&question(payload), QUESTION_MOST) },
        Meaning::Notification => return notification(payload),
        Meaning::Taken => {
            let taken = text(payload, &["prompt", "text"]).map(str::to_owned);
            let reading = Some(Reading::Working { doing: String::new() });
            return Told { taken, reading, ..Told::default() };
        }
    };
    Told { reading: Some(reading), ..Told::default() }
}

/// Whether what became of a call is that it was not allowed, as Copilot CLI tells it.
fn was_denied(payload: &Value) -> bool {
    let result = ["toolResult", "tool_result"].iter().find_map(|key| payload.get(key));
    result.and_then(|result| text(result, &["resultType", "result_type"])) == Some("denied")
}

fn denial(payload: &Value) -> Denial {
    let call = text(payload, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]).map(str::to_owned);
    // Its name alone: what it was to do may be long, and is not what is counted.
    Denial { call, tool: cut(text(payload, &["tool_name", "toolName"]).unwrap_or(""), DOING_MOST) }
}

fn notification(payload: &Value) -> Told {
    let message = text(payload, &["message"]).unwrap_or("");
    let found = match text(payload, &["notification_type", "notificationType"]).map(plain) {
        Some(kind) => NOTIFICATIONS.iter().find(|(known, _, _)| *known == kind),
        None => NOTIFICATIONS.iter().find(|(_, word, _)| message.contains(word)),
    };
    let told = found.map(|(_, _, meaning)| tell(*meaning, payload)).unwrap_or_default();
    Told { reminder: true, ..told }
}

/// What is asked: the agent's own words, or the tool call that it wants to make.
fn question(payload: &Value) -> String {
    match text(payload, &["message", "question", "title"]) {
        Some(words) => words.to_owned(),
        None => match tool(payload) {
            tool if tool.is_empty() => "it waits for an answer".into(),
            tool => tool,
        },
    }
}

/// The tool's name and what it is to do.
fn tool(payload: &Value) -> String {
    let name = text(payload, &["tool_name", "toolName"]).unwrap_or("");
    let input = ["tool_input", "toolInput", "toolArgs"].iter().find_map(|key| payload.get(key));
    let what = match input {
        Some(Value::String(what)) => Some(what.as_str()),
        Some(input) => text(input, &["command", "file_path", "path", "url", "query", "description"]),
        None => None,
    };
    match (name, what) {
        (name, None) => name.to_owned(),
        ("", Some(what)) => what.to_owned(),
        (name, Some(what)) => format!("{name}: {what}"),
    }
}

fn text<'a>(payload: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| payload.get(key)?.as_str()).filter(|text| !text.is_empty())
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn said(payload: Value) -> String {
        let told = understand(None, &payload);
        let reading = told.reading.map(|reading| format!("{reading:?}")).unwrap_or_default();
        told.taken.map(|text| format!("took {text:?}, ")).unwrap_or_default() + &reading
    }

    #[test]
    fn the_events_of_known_agents_are_understood() {
        for (payload, expected) in [
            (json!({"hook_event_name": "SessionStart", "source": "startup"}), "Started"),
            (
                json!({"hook_event_name": "UserPromptSubmit", "prompt": "go"}),
                "took \"go\", Working { doing: \"\" }",
            ),
            (json!({"event": "userPromptSubmitted", "prompt": "go"}), "took \"go\", Working { doing: \"\" }"),
            (
                json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}),
                "Working { doing: \"Bash: ls\" }",
            ),
            (
                json!({"hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": {"file_path": "a"}}),
                "Asking { question: \"Write: a\" }",
            ),
            (json!({"hook_event_name": "BeforeTool", "tool_name": "shell"}), "Working { doing: \"shell\" }"),
            (json!({"hook_event_name": "AfterAgent"}), "Idle"),
            (json!({"type": "agent-turn-complete"}), "Idle"),
            (json!({"hook_event_name": "Stop"}), "Idle"),
            (json!({"hook_event_name": "SessionEnd", "reason": "clear"}), ""),
            (json!({"hook_event_name": "NewerThanUs", "prompt": "x"}), ""),
        ] {
            assert_eq!(said(payload.clone()), expected, "{payload}");
        }
        assert_eq!(understand(Some("Stop"), &Value::Null).reading, Some(Reading::Idle));
    }

    #[test]
    fn a_call_that_was_denied_is_told_apart_from_one_that_failed() {
        let denied = |payload: Value| {
            let told = understand(None, &payload);
            assert_eq!(told.reading, Some(Reading::Working { doing: String::new() }), "{payload}");
            told.denied.map(|denial| format!("{} {:?}", denial.tool, denial.call))
        };
        let input = json!({"command": "rm -rf /"});
        for (payload, expected) in [
            (
                json!({"hook_event_name": "PermissionDenied", "tool_name": "Bash", "tool_input": input,
                       "tool_use_id": "toolu_1", "reason": "too dangerous"}),
                Some("Bash Some(\"toolu_1\")"),
            ),
            (json!({"hook_event_name": "PermissionDenied"}), Some(" None")),
            (
                json!({"event": "postToolUse", "toolName": "bash", "toolResult": {"resultType": "denied"}}),
                Some("bash None"),
            ),
            (
                json!({"event": "postToolUse", "toolName": "bash", "toolResult": {"resultType": "failure"}}),
                None,
            ),
            (json!({"hook_event_name": "PostToolUse", "tool_name": "Bash"}), None),
            (json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "denied"}), None),
        ] {
            assert_eq!(denied(payload.clone()).as_deref(), expected, "{payload}");
        }
    }

    #[test]
    fn a_reminder_of_an_idle_agent_is_no_question() {
        let notification = |kind: &str, message: &str| {
            said(json!({"hook_event_name": "Notification", "notification_type": kind, "message": message}))
        };
        assert_eq!(notification("idle_prompt", "waiting for your permission"), "Idle");
        assert_eq!(notification("permission_prompt", "May I?"), "Asking { question: \"May I?\" }");
        assert_eq!(notification("auth_success", "fine"), "");
        let old = json!({"hook_event_name": "Notification", "message": "Claude is waiting for your input"});
        assert_eq!(said(old), "Idle");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,20}".prop_map(Value::from),
            prop::sample::select(EVENTS).prop_map(|(name, _)| Value::from(name)),
        ];
        let keys = prop_oneof![
            Just("hook_event_name".to_owned()),
            Just("prompt".to_owned()),
            Just("tool_input".to_owned()),
            Just("message".to_owned()),
            "[a-z_]{1,8}",
        ];
        leaf.prop_recursive(3, 24, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(keys.clone(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_payload_is_too_odd_and_what_is_shown_is_bounded(payload in any_json(), named in "\\PC{0,12}") {
            let told = understand(Some(&named), &payload);
            if let Some(Reading::Asking { question }) = told.reading {
                prop_assert!(question.chars().count() <= QUESTION_MOST + 1);
            }
        }
    }
}
