//! The details of tool calls and of asks, as all protocols have them.

use ao_core::agent_report::{PlanStep, StepState};
use ao_core::ask::AskDetail;
use serde_json::Value;

use super::dialect::text;
use crate::text::cut;

/// Most characters of a tool call that are shown in one line.
const CALL_MOST: usize = 200;

/// The arguments that describe a call best, in order.
const INFORMATIVE: [&str; 11] = [
    "command",
    "file_path",
    "filePath",
    "filepath",
    "absolute_path",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
];

/// Returns the most informative argument of a tool call, in one line.
pub(super) fn call_detail(input: &Value) -> String {
    let argument = INFORMATIVE.iter().find_map(|key| input.get(key)?.as_str()).unwrap_or_default();
    one_line(argument)
}

/// Puts a text on one line of bounded length.
pub(super) fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), CALL_MOST)
}

/// Returns what a tool call would do: its command, its path, and the change that it makes.
pub(super) fn call_details(tool: &str, input: &Value) -> Vec<AskDetail> {
    let at = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str()).map(str::to_owned);
    let command = match input.get("command") {
        Some(Value::Array(words)) => {
            Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        other => other.and_then(Value::as_str).map(str::to_owned),
    };
    let path = at(&["file_path", "filePath", "filepath", "absolute_path", "path", "notebook_path"]);
    let diff = at(&["diff"]).or_else(|| {
        let before = at(&["old_string", "oldString"]);
        let after = at(&["new_string", "newString", "content"])?;
        Some(simple_diff(before.as_deref().unwrap_or_default(), &after))
    });
    let mut details = Vec::new();
    if !tool.is_empty() {
        details.push(AskDetail::Tool { name: tool.to_owned() });
    }
    details.extend(command.map(|command| AskDetail::Command { command }));
    match (path, diff) {
        (path, Some(diff)) => details.push(AskDetail::Diff { path: path.unwrap_or_default(), diff }),
        (Some(path), None) => details.push(AskDetail::Path { path }),
        (None, None) => {}
    }
    details
}

/// Returns a change as the lines that go and the lines that come.
pub(super) fn simple_diff(before: &str, after: &str) -> String {
    let marked =
        |mark: char, text: &str| -> String { text.lines().map(|line| format!("{mark}{line}\n")).collect() };
    marked('-', before) + &marked('+', after)
}

/// Returns the steps of a plan, whose text is under one of these keys.
pub(super) fn plan_steps(steps: &[Value], texts: &[&str]) -> Vec<PlanStep> {
    let step = |step: &Value| PlanStep {
        text: texts.iter().find_map(|key| step.get(key)?.as_str()).unwrap_or_default().to_owned(),
        state: match text(step, "/status") {
            "completed" => StepState::Done,
            "in_progress" | "inProgress" => StepState::Running,
            _ => StepState::Pending,
        },
    };
    steps.iter().map(step).collect()
}

/// Returns a sum in dollars as millionths of one.
pub(super) fn micros(dollars: f64) -> Option<u64> {
    let micros = (dollars * 1e6).round();
    // Exact up to 2^53 millionths, which is nine thousand million dollars.
    (micros >= 0.0 && micros < 9e15).then_some(micros as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_shows_what_it_would_do() {
        let details = call_details("Bash", &json!({ "command": "rm -r a", "description": "cleans" }));
        assert_eq!(
            details,
            [AskDetail::Tool { name: "Bash".into() }, AskDetail::Command { command: "rm -r a".into() }]
        );
        let edit = json!({ "file_path": "a.rs", "old_string": "one\n", "new_string": "two\nthree" });
        let diff = AskDetail::Diff { path: "a.rs".into(), diff: "-one\n+two\n+three\n".into() };
        assert_eq!(call_details("", &edit), [diff]);
        assert_eq!(call_details("", &json!({ "path": "a" })), [AskDetail::Path { path: "a".into() }]);
        assert_eq!(call_detail(&json!({ "command": "a\n  b" })), "a b");
    }

    #[test]
    fn dollars_are_exact_to_a_millionth() {
        assert_eq!([micros(0.104232), micros(0.0), micros(-1.0)], [Some(104_232), Some(0), None]);
        assert_eq!(micros(f64::NAN), None);
    }
}
