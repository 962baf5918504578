//! `ao` with real agents, in a box with a stand-in for the model APIs. `cargo xtask test --only agents` installs them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ao_testkit::agents::{self, AgentBox};
use ao_testkit::standin::{RecordedRequest, turns_with};

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

#[test]
fn claude_code_goes_on_after_crashes() {
    goes_on_after_crashes("claude-code");
}

#[test]
fn codex_goes_on_after_crashes() {
    goes_on_after_crashes("codex");
}

#[test]
fn opencode_goes_on_after_crashes() {
    goes_on_after_crashes("opencode");
}

#[test]
fn gemini_goes_on_after_crashes() {
    goes_on_after_crashes("gemini");
}

#[test]
fn qwen_goes_on_after_crashes() {
    goes_on_after_crashes("qwen");
}

/// One conversation over four messages: in the same process, to the next daemon, and to the next process of the agent. Each
/// message is in it once.
fn goes_on_after_crashes(name: &str) {
    let agent = agents::required(name);
    let agent_box = AgentBox::open_with(&[agent], &[Path::new(env!("CARGO_BIN_EXE_ao"))]).unwrap();
    run(&agent_box, "git", &["commit", "--quiet", "--allow-empty", "--message", "begin"]);
    run(&agent_box, "ao", &["start", "--port", "0"]);
    let prompt = "[[say first-reply]]";
    run(&agent_box, "ao", &["new", "Talk", "--agent", name, "--name", "task", "--prompt", prompt]);
    let told = |markers: &[&str]| {
        let all = |requests: &[RecordedRequest]| {
            requests.iter().any(|request| {
                let has = |marker: &&str| request.turns.iter().any(|turn| turn.contains(*marker));
                !request.tools.is_empty() && markers.iter().all(has)
            })
        };
        let requests = agent_box.wait_for(LIMIT, all).unwrap();
        for marker in markers {
            assert_eq!(turns_with(&requests, marker), 1, "{marker}: {requests:#?}");
        }
    };
    let rests = || run(&agent_box, "ao", &["wait", "task", "--for", "idle", "--timeout", "100s"]);
    told(&["first-reply"]);
    rests();
    run(&agent_box, "ao", &["send", "task", "[[say second-reply]]"]);
    told(&["first-reply", "second-reply"]);
    rests();

    kill(&agent_box, "ao daemon");
    run(&agent_box, "ao", &["start", "--port", "0"]);
    run(&agent_box, "ao", &["send", "task", "[[say third-reply]]"]);
    told(&["first-reply", "second-reply", "third-reply"]);
    rests();

    let of_agent = match name {
        "claude-code" => "--input-format stream-json",
        "codex" => "app-server",
        "opencode" => "opencode acp",
        _ => "--acp",
    };
    kill(&agent_box, of_agent);
    run(&agent_box, "ao", &["send", "task", "[[say fourth-reply]]"]);
    told(&["first-reply", "second-reply", "third-reply", "fourth-reply"]);
    rests();
    run(&agent_box, "ao", &["stop", "--all"]);
    run(&agent_box, "ao", &["stop"]);
    until("all processes have ended", || agent_box.processes().unwrap().is_empty());
    agent_box.close().unwrap();
}

/// Kills the processes in the box whose command line contains a text, and waits for their end.
fn kill(agent_box: &AgentBox, text: &str) {
    let has = || agent_box.processes().unwrap().into_iter().filter(|line| line.contains(text)).count();
    assert!(has() > 0, "no {text}: {:#?}", agent_box.processes().unwrap());
    // In the namespace of the box, where this shell is the only other process with that text.
    let script = r#"for one in /proc/[0-9]*; do
        pid=${one#/proc/}
        [ "$pid" != $$ ] && tr '\0' ' ' <$one/cmdline 2>/dev/null | grep -qF -- "$1" && kill -s KILL "$pid"
    done; true"#;
    run(agent_box, "sh", &["-c", script, "sh", text]);
    until("it is gone", || has() == 0);
}

/// Runs a command in the box, and returns its output.
fn run(agent_box: &AgentBox, program: &str, args: &[&str]) -> String {
    let run = agent_box.run(agent_box.command(program, args), LIMIT).unwrap();
    assert!(run.succeeded(), "{program} {args:?}: {run:#?}");
    run.out
}
