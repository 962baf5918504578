//! The choice of tmux, and of its configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use ao_ports::{Runtime, RuntimeError};
use ao_runtime::tmux::{Options, Tmux};
use ao_testkit::WallClock;
use ao_testkit::contract::runtime::Story;

use super::bench::Terminal;

/// A program that stands in for tmux.
fn script(bench: &Terminal, text: &str) -> String {
    let path = bench.state().join("tmux-stand-in");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path.display().to_string()
}

async fn refused(program: &str) -> RuntimeError {
    let story = Story::begin(Terminal::new()).await;
    let options = Options { program: program.to_owned(), ..story.bench().options() };
    let tmux = Tmux::new(options, Arc::new(WallClock::default()));
    tmux.start(&story.spec("echo up")).await.expect_err("it cannot")
}

#[tokio::test]
async fn without_tmux_its_absence_is_named() {
    assert_eq!(refused("no-such-tmux").await, RuntimeError::NoProgram { program: "no-such-tmux".into() });
}

#[tokio::test]
async fn a_tmux_that_is_too_old_is_refused_with_what_to_do() {
    let bench = Terminal::new();
    let err = refused(&script(&bench, "echo tmux 3.1c")).await.to_string();
    assert!(err.contains("tmux 3.1c") && err.contains("3.2 or newer") && err.contains("install"), "{err}");
}

#[tokio::test]
async fn a_path_that_no_socket_can_have_is_refused() {
    let story = Story::begin(Terminal::new()).await;
    let options = Options { state_dir: story.folder().join("x".repeat(100)), ..story.bench().options() };
    let tmux = Tmux::new(options, Arc::new(WallClock::default()));
    let err = tmux.start(&story.spec("echo up")).await.expect_err("it cannot").to_string();
    assert!(err.contains("too long"), "{err}");
}

#[tokio::test]
async fn a_persons_own_configuration_is_not_read() {
    let story = Story::begin(Terminal::new()).await;
    let home = story.folder().join("home");
    fs::create_dir(&home).unwrap();
    let breaks = format!(
        "run-shell 'touch {0}/read'\nset -g remain-on-exit off\nset -g default-command 'sh -c exit'\nset -g status on\n",
        home.display()
    );
    fs::write(home.join(".tmux.conf"), &breaks).unwrap();
    fs::create_dir_all(home.join(".config/tmux")).unwrap();
    fs::write(home.join(".config/tmux/tmux.conf"), &breaks).unwrap();
    let program = script(story.bench(), &format!("HOME='{}' exec tmux \"$@\"", home.display()));
    let tmux = Tmux::new(Options { program, ..story.bench().options() }, Arc::new(WallClock::default()));
    tmux.start(&story.spec("echo up > up; sleep 600")).await.unwrap();
    story.until_file("up").await;
    assert!(!home.join("read").exists());
    let order = ao_ports::EndOrder { session: story.session(0), attempt: ao_core::Attempt(1), process: None };
    tmux.end(&order).await.unwrap();
}
