//! The details of tool calls, for all sources that report them.

use ao_core::ask::AskDetail;
use serde_json::Value;

/// Returns what a tool call would do: its command, its path, and the change that it makes.
pub(crate) fn call_details(tool: &str, input: &Value) -> Vec<AskDetail> {
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
pub(crate) fn simple_diff(before: &str, after: &str) -> String {
    let mut diff = String::with_capacity(before.len() + after.len());
    for (mark, text) in [('-', before), ('+', after)] {
        for line in text.lines() {
            diff.extend([mark]);
            diff.push_str(line);
            diff.push('\n');
        }
    }
    diff
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
        assert_eq!(
            call_details("", &json!({ "command": ["git", "push"] })),
            [AskDetail::Command { command: "git push".into() }]
        );
    }
}
