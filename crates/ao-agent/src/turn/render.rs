//! Renders the reports of a turn as text for people.

use ao_core::agent_report::{CallState, StepState, ToolCall};

use super::{TurnEvent, TurnFormat};

/// Most lines of a tool's answer that are shown.
const ANSWER_LINES: usize = 12;

/// Renders whole lines of a headless agent's output as text for people. Other lines are left as they are.
pub fn render(format: TurnFormat, lines: &str) -> String {
    if format == TurnFormat::Text {
        return lines.to_owned();
    }
    let mut text = String::with_capacity(lines.len());
    for line in lines.split_inclusive('\n') {
        if !line.trim_start().starts_with('{') {
            end_line(&mut text);
            text.push_str(line);
            continue;
        }
        for event in format.read(line) {
            add(&mut text, event);
        }
    }
    text
}

fn add(text: &mut String, event: TurnEvent) {
    if let TurnEvent::SaidMore(more) = &event {
        text.push_str(more);
        return;
    }
    end_line(text);
    match event {
        TurnEvent::Said(message) => push_line(text, message.trim_end()),
        TurnEvent::Calls { id, tool, detail } => {
            let call = ToolCall { id, tool, detail, state: CallState::Running };
            push_line(text, &format!("▸ {}", call.summary()));
        }
        TurnEvent::Planned(steps) => {
            for step in steps {
                let mark = if step.state == StepState::Done { "✓" } else { "·" };
                push_line(text, &format!("  {mark} {}", step.text));
            }
        }
        TurnEvent::Answered { text: answer, .. } => {
            let lines: Vec<&str> = answer.trim_end().lines().collect();
            for line in lines.iter().take(ANSWER_LINES) {
                push_line(text, &format!("  {line}"));
            }
            if lines.len() > ANSWER_LINES {
                push_line(text, &format!("  … {} more lines", lines.len() - ANSWER_LINES));
            }
        }
        TurnEvent::Failed(why) => push_line(text, &format!("error: {why}")),
        TurnEvent::LoggedOut => push_line(text, "error: the agent is logged out"),
        TurnEvent::Limited { .. } => push_line(text, "error: the provider refuses more work"),
        TurnEvent::Began | TurnEvent::Conversation(_) | TurnEvent::SaidMore(_) => {}
    }
}

fn push_line(text: &mut String, line: &str) {
    if !line.trim().is_empty() {
        text.push_str(line);
        text.push('\n');
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_words_and_not_json() {
        let lines = concat!(
            "Reading additional input from stdin...\n",
            r#"{"type":"thread.started","thread_id":"01a1"}"#,
            "\n",
            r#"{"type":"item.started","item":{"type":"command_execution","command":"cargo test"}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n"}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"It works."}}"#,
            "\n",
            r#"{"type":"turn.failed","error":{"message":"no more credit"}}"#,
            "\n",
        );
        let shown = render(TurnFormat::Codex, lines);
        assert!(
            shown.starts_with("Reading additional input from stdin...\n▸ cargo test\n  1\n  2\n"),
            "{shown}"
        );
        assert!(shown.ends_with("  12\n  … 2 more lines\nIt works.\nerror: no more credit\n"), "{shown}");
    }

    #[test]
    fn words_that_come_in_pieces_are_one_line() {
        let piece = |text: &str| {
            format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{text}\",\"delta\":true}}\n")
        };
        let lines =
            format!("{}{}{{\"type\":\"tool_use\",\"tool_name\":\"ls\"}}\n", piece("Look "), piece("here."));
        assert_eq!(render(TurnFormat::Gemini, &lines), "Look here.\n▸ ls\n");
    }
}
