//! xtask, called as a program.

use std::io;
use std::process::{Command, Output, Stdio};

fn xtask(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(args).stdin(Stdio::null());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `cargo xtask test --list | true`
#[test]
fn a_reader_that_has_gone_ends_it_without_a_word() {
    for args in [&["test", "--list"][..], &["tidy", "--acceptance"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = xtask(args).stdout(writer).output().unwrap();
        // The exit code of a program killed by SIGPIPE; 0 would mean success.
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(141), ""), "{args:?}");
    }
}

#[test]
fn a_fuzz_target_that_is_not_there_is_refused_before_anything_is_installed() {
    let output = xtask(&["fuzz", "nosuch"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "error: no fuzz target is called `nosuch`; there are: config, event_decode, failure, hook, replay, snapshot, words\n"
    );
    assert!(output.stdout.is_empty(), "{output:?}");
}
