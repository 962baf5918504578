//! Interprets the events of hooks, for all agents. The names are data, because agents agree on little else.

use ao_core::ask::AskDetail;
use ao_core::evidence::Reading;
use serde_json::Value;

use crate::details::call_details;
use crate::text::cut;

/// Most characters of a description of the agent's work; it is shown, not sent on.
const DOING_MOST: usize = 200;
/// Most characters of a question; a person has to be able to read all of it.
const QUESTION_MOST: usize = 4000;

/// The meaning of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventMeaning {
    /// The text that the agent took as a user turn.
    pub taken: Option<String>,
    pub reading: Option<Reading>,
    /// True if the reading repeats an earlier one, with less detail.
    pub reminder: bool,
    /// A tool call that the agent was not allowed to make.
    pub denied: Option<ToolDenial>,
    /// The subject of the question, if it asks about a tool call.
    pub details: Vec<AskDetail>,
}

/// A tool call that was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDenial {
    /// The agent's own id of the call, if it has one.
    pub call: Option<String>,
    pub tool: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Started,
    /// A user turn begins, and the payload has its text.
    Taken,
    /// A tool call begins.
    Tool,
    Working(&'static str),
    /// A tool call is over; the payload may report that it was not allowed.
    ToolOver,
    Denied,
    Asking,
    Idle,
    /// The payload has the kind.
    Notification,
    /// Of no interest: the end of a session is also reported when a conversation is cleared, and the process shows
    /// better whether it has ended.
    Nothing,
}

/// All known events, in lower case and without separators, since one agent's `PreToolUse` is another's `preToolUse` or
/// `pre_tool_use`.
const EVENTS: &[(&str, EventKind)] = &[
    // Claude Code, Codex, Qwen Code.
    ("sessionstart", EventKind::Started),
    ("userpromptsubmit", EventKind::Taken),
    ("pretooluse", EventKind::Tool),
    ("permissionrequest", EventKind::Asking),
    ("permissiondenied", EventKind::Denied),
    ("posttooluse", EventKind::ToolOver),
    ("posttoolusefailure", EventKind::ToolOver),
    ("subagentstart", EventKind::Working("a helper")),
    ("subagentstop", EventKind::Working("")),
    ("precompact", EventKind::Working("making the conversation shorter")),
    ("notification", EventKind::Notification),
    ("stop", EventKind::Idle),
    ("sessionend", EventKind::Nothing),
    // Gemini CLI.
    ("beforeagent", EventKind::Taken),
    ("beforemodel", EventKind::Working("")),
    ("aftermodel", EventKind::Working("")),
    ("beforetool", EventKind::Tool),
    ("aftertool", EventKind::Working("")),
    ("afteragent", EventKind::Idle),
    ("precompress", EventKind::Working("making the conversation shorter")),
    // Copilot CLI.
    ("userpromptsubmitted", EventKind::Taken),
    ("agentstop", EventKind::Idle),
    // Codex's `notify`, which is older than its hooks.
    ("agentturncomplete", EventKind::Idle),
    ("approvalrequested", EventKind::Asking),
];

/// The kinds of notification, and phrases that identify those without a kind.
const NOTIFICATIONS: &[(&str, &str, EventKind)] = &[
    ("permissionprompt", "permission", EventKind::Asking),
    ("elicitationdialog", "asks", EventKind::Asking),
    // A reminder that comes a minute after the turn has ended. It asks for nothing.
    ("idleprompt", "waiting for your input", EventKind::Idle),
];

/// Interprets an event. `named` is the event's name from the hook's command line, for payloads that lack it.
///
/// Unknown events have no meaning: a later version of an agent may have events of any name.
pub fn understand(named: Option<&str>, payload: &Value) -> EventMeaning {
    let name = text(payload, &["hook_event_name", "hookEventName", "event", "type"]).or(named).unwrap_or("");
    let name = plain(name);
    let meaning = EVENTS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    interpret(meaning.unwrap_or(EventKind::Nothing), payload)
}

fn interpret(meaning: EventKind, payload: &Value) -> EventMeaning {
    let reading = match meaning {
        EventKind::Nothing => return EventMeaning::default(),
        EventKind::Started => Reading::Started,
        EventKind::Idle => Reading::Idle,
        EventKind::Working(doing) => Reading::Working { doing: doing.into() },
        EventKind::ToolOver if !was_denied(payload) => Reading::Working { doing: String::new() },
        // It goes on without the tool, or reports that it cannot.
        EventKind::ToolOver | EventKind::Denied => {
            let reading = Some(Reading::Working { doing: String::new() });
            return EventMeaning { reading, denied: Some(denial(payload)), ..EventMeaning::default() };
        }
        EventKind::Tool => Reading::Working { doing: cut(&tool(payload), DOING_MOST) },
        EventKind::Asking => {
            let reading = Some(Reading::Asking { question: cut(&question(payload), QUESTION_MOST) });
            return EventMeaning { reading, details: details(payload), ..EventMeaning::default() };
        }
        EventKind::Notification => return notification(payload),
        EventKind::Taken => {
            let taken = text(payload, &["prompt", "text"]).map(str::to_owned);
            let reading = Some(Reading::Working { doing: String::new() });
            return EventMeaning { taken, reading, ..EventMeaning::default() };
        }
    };
    EventMeaning { reading: Some(reading), ..EventMeaning::default() }
}

/// Returns true if a tool call was denied, as Copilot CLI reports it.
fn was_denied(payload: &Value) -> bool {
    let result = ["toolResult", "tool_result"].iter().find_map(|key| payload.get(key));
    result.and_then(|result| text(result, &["resultType", "result_type"])) == Some("denied")
}

fn denial(payload: &Value) -> ToolDenial {
    let call = text(payload, &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]).map(str::to_owned);
    // Its name alone: its arguments may be long, and do not matter for counting.
    ToolDenial { call, tool: cut(text(payload, &["tool_name", "toolName"]).unwrap_or(""), DOING_MOST) }
}

fn notification(payload: &Value) -> EventMeaning {
    let message = text(payload, &["message"]).unwrap_or("");
    let found = match text(payload, &["notification_type", "notificationType"]).map(plain) {
        Some(kind) => NOTIFICATIONS.iter().find(|(known, _, _)| *known == kind),
        None => NOTIFICATIONS.iter().find(|(_, word, _)| message.contains(word)),
    };
    let meaning = found.map(|(_, _, meaning)| interpret(*meaning, payload)).unwrap_or_default();
    EventMeaning { reminder: true, details: vec![], ..meaning }
}

/// Returns the question: the agent's own text, or the tool call that it wants to make.
fn question(payload: &Value) -> String {
    match text(payload, &["message", "question", "title"]) {
        Some(words) => words.to_owned(),
        None => match tool(payload) {
            tool if tool.is_empty() => "it waits for an answer".into(),
            tool => tool,
        },
    }
}

/// Returns what a tool call would do.
fn details(payload: &Value) -> Vec<AskDetail> {
    let name = text(payload, &["tool_name", "toolName"]).unwrap_or("");
    tool_input(payload).map(|input| call_details(name, input)).unwrap_or_default()
}

fn tool_input(payload: &Value) -> Option<&Value> {
    ["tool_input", "toolInput", "toolArgs"].iter().find_map(|key| payload.get(key))
}

/// Describes a tool call by its name and its main argument.
fn tool(payload: &Value) -> String {
    let name = text(payload, &["tool_name", "toolName"]).unwrap_or("");
    let input = tool_input(payload);
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

    fn described(payload: Value) -> String {
        let meaning = understand(None, &payload);
        let reading = meaning.reading.map(|reading| format!("{reading:?}")).unwrap_or_default();
        meaning.taken.map(|text| format!("took {text:?}, ")).unwrap_or_default() + &reading
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
            assert_eq!(described(payload.clone()), expected, "{payload}");
        }
        assert_eq!(understand(Some("Stop"), &Value::Null).reading, Some(Reading::Idle));
    }

    #[test]
    fn a_denied_call_is_distinguished_from_a_failed_one() {
        let denied = |payload: Value| {
            let meaning = understand(None, &payload);
            assert_eq!(meaning.reading, Some(Reading::Working { doing: String::new() }), "{payload}");
            meaning.denied.map(|denial| format!("{} {:?}", denial.tool, denial.call))
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
    fn a_request_for_a_permission_has_its_subject_and_a_reminder_has_none() {
        let input = json!({"file_path": "a.rs", "old_string": "one", "new_string": "two"});
        let request =
            json!({"hook_event_name": "PermissionRequest", "tool_name": "Edit", "tool_input": input});
        let diff = AskDetail::Diff { path: "a.rs".into(), diff: "-one\n+two\n".into() };
        let expected = [AskDetail::Tool { name: "Edit".into() }, diff];
        assert_eq!(understand(None, &request).details, expected);
        let notification = json!({"hook_event_name": "Notification", "notification_type": "permission_prompt",
                                  "message": "Claude needs your permission", "tool_input": input});
        assert_eq!(understand(None, &notification).details, []);
        let tool = json!({"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": input});
        assert_eq!(understand(None, &tool).details, []);
    }

    #[test]
    fn a_reminder_of_an_idle_agent_is_no_question() {
        let notification = |kind: &str, message: &str| {
            described(
                json!({"hook_event_name": "Notification", "notification_type": kind, "message": message}),
            )
        };
        assert_eq!(notification("idle_prompt", "waiting for your permission"), "Idle");
        assert_eq!(notification("permission_prompt", "May I?"), "Asking { question: \"May I?\" }");
        assert_eq!(notification("auth_success", "fine"), "");
        let old = json!({"hook_event_name": "Notification", "message": "Claude is waiting for your input"});
        assert_eq!(described(old), "Idle");
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
            let meaning = understand(Some(&named), &payload);
            if let Some(Reading::Asking { question }) = meaning.reading {
                prop_assert!(question.chars().count() <= QUESTION_MOST + 1);
            }
        }
    }
}
