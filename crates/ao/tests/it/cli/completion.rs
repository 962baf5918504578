//! Completion in the shells that people use, with the names that there are at that moment.

use std::path::Path;
use std::process::Command;

use ao_api::{Pulls, Sessions};
use portable_pty::CommandBuilder;
use serde_json::json as value;

use super::standin::{StandIn, json};
use super::window::Window;
use super::wire::{pull, session};
use crate::support::Home;

fn daemon() -> StandIn {
    let daemon = StandIn::new();
    let pulls = vec![pull(42).pull, pull(7).pull];
    daemon.on("GET /api/pulls?state=open&limit=100", json(&Pulls { pulls, total: None }));
    let sessions =
        vec![session("my-app-login", "working"), session("my-app-export", "idle"), session("docs-1", "idle")];
    daemon.on("GET /api/sessions", json(&Sessions { sessions, pulls: vec![], seq: 1 })).on(
        "GET /api/projects",
        json(&value!({"projects": [{
            "id": "my-app", "path": "/w/my-app", "defaultBranch": "main", "agent": "a", "runtime": "process",
            "workspace": "worktree", "liveSessions": 0, "repo": null, "config": null, "maxParallelAgents": null,
        }]})),
    );
    daemon
}

/// The folder with `ao` in it, before all others in the path.
fn path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_ao"));
    format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap())
}

/// A shell at a terminal, with a prompt that is known and the completion script read.
fn shell(home: &Home, program: &str, args: &[&str]) -> Window {
    let mut command = CommandBuilder::new(program);
    command.args(args);
    command.env_clear();
    command.env("PATH", path());
    command.env("HOME", home.path());
    command.env("TERM", "xterm");
    command.env("LC_ALL", "C.UTF-8");
    command.env("PS1", "ready> ");
    command.cwd(home.path());
    Window::open(command)
}

fn completes_in(mut window: Window, load: &str) {
    window.until(|screen| screen.contains("ready> "));
    window.press(&format!("{load}; echo loa''ded\r"));
    window.until(|screen| screen.lines().any(|line| line == "loaded"));
    // Only one name fits, so it is written out.
    window.press("ao status my-app-l\t");
    window.until(|screen| screen.contains("ao status my-app-login"));
    window.press("\x15ao stop --project my\t");
    window.until(|screen| screen.contains("ao stop --project my-app"));
    // Several fit: they are shown.
    window.press("\x15ao explain my-app-\t\t");
    window.until(|screen| screen.contains("my-app-login") && screen.contains("my-app-export"));
    window.press("\x15ao pr show 4\t");
    window.until(|screen| screen.contains("ao pr show 42"));
    window.press("\x15ao batch\t");
    window.until(|screen| screen.contains("ao batch-spawn"));
}

#[test]
fn bash_completes_the_names_that_there_are() {
    let daemon = daemon();
    let window = shell(&daemon.home, "bash", &["--norc", "--noprofile", "-i"]);
    completes_in(window, "source <(ao completion bash)");
}

#[test]
fn zsh_completes_the_names_that_there_are() {
    let daemon = daemon();
    let window = shell(&daemon.home, "zsh", &["-f", "-i"]);
    completes_in(window, "autoload -U compinit && compinit -u -D; source <(ao completion zsh)");
}

#[test]
fn fish_completes_the_names_that_there_are() {
    let daemon = daemon();
    let said = fish(&daemon.home, "ao status my-app-");
    assert!(said.contains("my-app-login\tworking: Fix login validation bug"), "{said}");
    assert!(said.contains("my-app-export") && !said.contains("docs-1"), "{said}");
    let said = fish(&daemon.home, "ao stop --project ");
    assert!(said.contains("my-app\t/w/my-app"), "{said}");
    assert!(fish(&daemon.home, "ao batch").contains("batch-spawn"));
}

fn fish(home: &Home, line: &str) -> String {
    let script = format!("ao completion fish | source; complete -C '{line}'");
    let output = Command::new("fish")
        .args(["--no-config", "-c", &script])
        .env_clear()
        .env("PATH", path())
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .expect("fish is installed; `cargo xtask test` sees to that");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_agent_that_types_is_known_by_its_token() {
    let daemon = daemon();
    let said = daemon
        .home
        .ao(&["--", "ao", "status", "my-"])
        .env("AO_COMPLETE", "fish")
        .envs([("AO_SESSION", "ses_1"), ("AO_ATTEMPT", "2"), ("AO_TOKEN", "s3cret")])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("my-app-login"), "{said:?}");
    assert_eq!(daemon.calls("GET")[0].proof.as_deref(), Some("Bearer ses_1/2/s3cret"));
}

#[test]
fn without_a_daemon_there_are_no_names_and_nothing_is_said() {
    let home = Home::new();
    assert_eq!(fish(&home, "ao status my-"), "");
    assert!(fish(&home, "ao batch").contains("batch-spawn"));
}

#[test]
fn every_shell_has_a_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = home.run(&["completion", shell]);
        assert!(said.starts_with("exit 0") && said.contains("AO_COMPLETE"), "{said}");
    }
    let said = home.run(&["completion", "tcsh"]);
    assert!(said.starts_with("exit 2"), "{said}");
}
