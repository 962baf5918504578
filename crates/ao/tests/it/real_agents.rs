//! `ao` with real agents, in a box with a stand-in for the model APIs. `cargo xtask test --only agents` installs them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ao_testkit::agents::{self, AgentBox};
use ao_testkit::standin::turns_with;

use crate::house::until;

/// Enough for the slowest agent on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn claude_code_gets_its_task_once_and_leaves_nothing_behind() {
    does_its_task("claude-code");
}

#[test]
fn codex_gets_its_task_once_and_leaves_nothing_behind() {
    does_its_task("codex");
}

#[test]
fn opencode_gets_its_task_once_and_leaves_nothing_behind() {
    does_its_task("opencode");
}

#[test]
fn gemini_gets_its_task_once_and_leaves_nothing_behind() {
    does_its_task("gemini");
}

#[test]
fn qwen_gets_its_task_once_and_leaves_nothing_behind() {
    does_its_task("qwen");
}

fn does_its_task(name: &str) {
    let agent = agents::required(name);
    let agent_box = AgentBox::open_with(&[agent], &[Path::new(env!("CARGO_BIN_EXE_ao"))]).unwrap();
    run(&agent_box, "git", &["commit", "--quiet", "--allow-empty", "--message", "begin"]);
    run(&agent_box, "ao", &["start", "--port", "0"]);
    let prompt = "[[write note.txt hello]] [[say note-written]]";
    run(&agent_box, "ao", &["new", "Write a note", "--agent", name, "--name", "task", "--prompt", prompt]);
    run(&agent_box, "ao", &["wait", "task", "--for", "idle", "--timeout", "100s"]);

    let note = fs::read_to_string(agent_box.path("work/.worktrees/task/note.txt")).unwrap();
    assert_eq!(note.trim_end(), "hello");
    let requests = agent_box.requests().unwrap();
    let turns: Vec<_> = requests.iter().map(|request| &request.turns).collect();
    assert_eq!(turns_with(&requests, "note-written"), 1, "{turns:#?}");
    assert!(run(&agent_box, "ao", &["logs", "task"]).contains("note-written"));

    run(&agent_box, "ao", &["stop", "--all"]);
    run(&agent_box, "ao", &["stop"]);
    until("all processes have ended", || agent_box.processes().unwrap().is_empty());
    agent_box.close().unwrap();
}

/// Runs a command in the box, and returns its output.
fn run(agent_box: &AgentBox, program: &str, args: &[&str]) -> String {
    let run = agent_box.run(agent_box.command(program, args), LIMIT).unwrap();
    assert!(run.succeeded(), "{program} {args:?}: {run:#?}");
    run.out
}
