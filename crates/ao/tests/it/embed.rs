//! The library as its documentation shows it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Planner, workspace, agent with a callback, pull request, failed check, agent resumed, own notifier and forge: built with
/// the tests, and run.
#[test]
fn the_example_tells_its_whole_story() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(example())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{errors}");
    assert_eq!(errors, "");
    // What tells by itself comes when it comes; all else in its order.
    let (by_itself, told): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.starts_with("callback: ") || line.starts_with("notice: "));
    insta::assert_snapshot!(told.join("\n"), @r"
    planned: Write it down: Greet people
    workspace on branch agent/hello
    the agent said: I wrote Helo, world!
    opened greetings!1
    failed: spelling wrong greeting
    the agent said: I wrote Hello, world!
    checks that fail now: 0
    kept: it has commits that nothing else keeps
    removed, as its work is merged
    ");
    assert!(by_itself.contains(&"callback: the agent is Idle, exit code Some(0)"), "{said}");
    assert!(by_itself.iter().any(|line| line.contains("check `spelling` failed")), "{said}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "it cleans up after itself");
}

/// So what is read there was compiled and run.
#[test]
fn the_code_in_the_documentation_is_that_of_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let doc = std::fs::read_to_string(root.join("../../docs/embedding.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/embed/main.rs")).unwrap();
    let mut blocks = 0;
    for block in doc.split("```rust,ignore\n").skip(1) {
        let code = block.split("\n```").next().unwrap();
        blocks += 1;
        assert!(example.contains(code), "docs/embedding.md has what examples/embed/main.rs has not:\n{code}");
    }
    assert!(blocks >= 4, "there is code in docs/embedding.md");
}

/// Cargo builds examples beside the tests of their crate.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
    let example = profile.join("examples/embed");
    assert!(example.exists(), "build it with `cargo build -p ao --example embed`");
    example
}
