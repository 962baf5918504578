//! The checks that fit a repository are offered to a person at a terminal.

use portable_pty::CommandBuilder;

use super::window::Window;
use crate::place::Place;

/// `ao` at a terminal, with what a person presses when they are asked.
fn answered(args: &[&str], answer: &str) -> (String, String) {
    let place = Place::new();
    let app = place.repository("my-app");
    std::fs::write(app.join("Makefile"), "test:\n\ttrue\n").unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ao"));
    command.args(args);
    command.env_clear();
    command.env("PATH", place.bin());
    command.env("HOME", place.home.path());
    command.env("TMPDIR", place.home.path().join("tmp"));
    command.cwd(&app);
    let mut window = Window::open(command);
    if !answer.is_empty() {
        window.until(|shown| shown.contains("make test") && shown.contains("[Y/n]"));
        window.press(answer);
    }
    assert_eq!(window.code(), 0, "{}", window.until(|_| true));
    let shown = window.until(|shown| shown.contains("Next: `ao start`"));
    (shown, std::fs::read_to_string(app.join("agent-orchestrator.yaml")).unwrap())
}

#[test]
fn a_person_says_whether_checks_that_fit_are_to_run() {
    let (shown, text) = answered(&["init"], "\r");
    assert!(text.contains("\n      - { name: make-test, command: 'make test' }\n"), "{text}");
    assert!(shown.contains("checks     make-test") && !shown.contains("nothing is checked"), "{shown}");
    let (shown, text) = answered(&["init"], "n\r");
    assert!(text.contains("\n    #   - { name: make-test, command: 'make test' }\n"), "{text}");
    assert!(shown.contains("no checks are enabled"), "{shown}");
    let (shown, text) = answered(&["init", "--yes"], "");
    assert!(!shown.contains("[Y/n]") && text.contains("# checks:"), "{shown}");
}
