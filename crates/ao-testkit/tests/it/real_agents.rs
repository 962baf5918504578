//! The real agents against the stand-in, in a box. `cargo xtask test --only agents` installs them first.

use std::fs;
use std::time::Duration;

use ao_testkit::agents::{self, AgentBox};
use ao_testkit::standin::{RecordedRequest, turns_with};

/// Enough for the slowest agent on a busy machine.
const LIMIT: Duration = Duration::from_secs(150);

#[test]
fn claude_code_runs_a_turn() {
    one_turn("claude-code");
}

#[test]
fn codex_runs_a_turn() {
    one_turn("codex");
}

#[test]
fn opencode_runs_a_turn() {
    one_turn("opencode");
}

#[test]
fn gemini_runs_a_turn() {
    one_turn("gemini");
}

#[test]
fn qwen_runs_a_turn() {
    one_turn("qwen");
}

/// Runs one turn with a tool call and a reply, and compares the conversation with what the agent reports.
fn one_turn(name: &str) {
    let agent = agents::find(name).unwrap();
    let lacks = agents::lacks()
        .or_else(|| (!agents::is_installed(agent)).then(|| format!("run `cargo xtask agents {name}` first")));
    if let Some(why) = lacks {
        eprintln!("SKIPPED, nothing was tested: {why}");
        return;
    }
    let cell = AgentBox::open(&[agent]).unwrap();
    let prompt = format!("[[run echo made > made.txt]] [[say {name} is done]]");
    let turn = cell.turn(agent, &prompt, LIMIT).unwrap();
    assert!(turn.status.is_some_and(|status| status.success()), "{turn:#?}");
    assert_eq!(agent.reply(&turn.out), format!("{name} is done"), "{turn:#?}");
    assert_eq!(fs::read_to_string(cell.path("work/made.txt")).unwrap(), "made\n");

    let requests = cell.requests().unwrap();
    let of_the_turn =
        |request: &&RecordedRequest| !request.tools.is_empty() && request.prompt.contains("[[run ");
    let of_the_turn: Vec<_> = requests.iter().filter(of_the_turn).map(|request| request.results).collect();
    assert_eq!(of_the_turn, [0, 1], "one request for the call and one with its result: {requests:#?}");
    assert_eq!(turns_with(&requests, "is done"), 1, "the prompt was sent once: {requests:#?}");
    let refused: Vec<_> = requests.iter().filter(|request| request.status != 200).collect();
    assert!(refused.is_empty(), "the stand-in lacks something that the agent asked for: {refused:#?}");
}
