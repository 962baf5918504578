//! Tool calls that an agent was not allowed to make are counted, each of them once.

use ao_core::agent_report::{AgentReport, CallState, ToolCall};
use ao_core::{Attempt, SessionId};

use crate::desk::Desk;

fn denial(call: &str, tool: &str) -> AgentReport {
    let (id, tool, detail) = (call.into(), tool.into(), String::new());
    AgentReport::ToolCall(ToolCall { id, tool, detail, state: CallState::Denied })
}

fn denied(desk: &mut Desk, session: SessionId, call: &str, tool: &str) {
    let attempt = desk.session(session).attempt;
    desk.report_of(session, attempt, denial(call, tool));
}

/// acceptance: X2
#[test]
fn a_denied_call_is_counted_once_however_often_it_is_told() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let before = desk.status(session);
    for (call, tool) in [("toolu_1", "Bash"), ("toolu_1", "Bash"), ("toolu_2", "Write"), ("toolu_1", "Bash")]
    {
        denied(&mut desk, session, call, tool);
    }
    let seen = &desk.session(session).denied;
    assert_eq!((seen.count, seen.tool.as_str()), (2, "Write"));
    assert_eq!(desk.status(session), before, "it says nothing about what the agent does");
    assert_eq!(desk.told(), Vec::<String>::new(), "and wakes nobody");
}

#[test]
fn a_flood_of_denied_calls_is_counted_and_not_kept() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    for number in 0..500 {
        denied(&mut desk, session, &format!("toolu_{number}"), "Bash");
    }
    denied(&mut desk, session, "toolu_499", "Bash");
    assert_eq!(desk.session(session).denied.count, 500);
    let kept = serde_json::to_string(&desk.session(session).denied).unwrap().len();
    assert!(kept < 2000, "{kept} bytes");
}

#[test]
fn the_names_of_tools_are_others_words_and_are_made_harmless() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    denied(
        &mut desk,
        session,
        &"x".repeat(1 << 20),
        &format!("\u{1b}[31mBash\n\u{202e}{}", "y".repeat(1 << 20)),
    );
    let tool = desk.session(session).denied.tool.clone();
    assert!(tool.starts_with("Bashy") && tool.len() <= 80, "{tool:?}");
    denied(&mut desk, session, "two", " \n");
    assert_eq!(desk.session(session).denied.tool, "a tool");
    let ahead = Attempt(desk.session(session).attempt.0 + 1);
    desk.report_of(session, ahead, denial("three", "Bash"));
    assert_eq!(desk.session(session).denied.count, 2, "an attempt that was never begun is made up");
}
