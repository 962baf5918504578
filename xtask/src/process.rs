//! Starts other programs: with their output captured, with a time limit, or with our own terminal.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::say;

/// The result of a program.
#[derive(Debug)]
pub(crate) struct FinishedProcess {
    pub(crate) status: ExitStatus,
    /// Lines of both outputs in the order they were written, without colors.
    pub(crate) lines: Vec<String>,
}

/// Returns the root of the repository, independent of the current folder.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the repository")
}

/// Returns the folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Creates a `cargo` command in the root of the repository. `line` is split at spaces; add an argument with spaces by
/// `arg`.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(line.split_whitespace()).current_dir(root());
    // Cargo describes xtask in these variables. Build scripts that read them would run again, and all that depends on
    // them, whenever `cargo xtask` follows a plain `cargo`.
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program, shows its output and returns it.
pub(crate) fn watch(mut command: Command) -> Result<FinishedProcess> {
    say!("$ {}", shown(&command));
    // One pipe for both outputs keeps their order. Into a pipe, programs print no colors.
    let (reader, writer) = io::pipe()?;
    if io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("failed to start `{}`", shown(&command)))?;
    // The reader ends only when all write ends are closed, so ours have to be dropped.
    drop(command);

    let mut lines = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        say!("{line}");
        lines.push(without_colors(&line));
    }
    Ok(FinishedProcess { status: child.wait()?, lines })
}

/// Runs a program with a time limit. Returns `None` if it had to be killed.
pub(crate) fn bounded(mut command: Command, limit: Duration) -> Result<Option<ExitStatus>> {
    say!("$ {}", shown(&command));
    let started = Instant::now();
    // A process group of its own, so that all processes it started end with it.
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            // Uses the shell's `kill`, because std has no process groups and our code has no `unsafe`.
            Command::new("sh").args(["-c", &format!("kill -s KILL -- -{}", child.id())]).status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Builds and runs one of our programs with our own terminal and input, and returns its exit code.
pub(crate) fn forward(mut command: Command) -> Result<ExitCode> {
    // Printed on stderr, because stdout belongs to the program.
    say::aside(format_args!("$ {}\nbuilding…", shown(&command)));
    let status = command.status().with_context(|| format!("failed to start `{}`", shown(&command)))?;
    Ok(exit_code(status))
}

/// Returns our own exit code.
pub(crate) fn success_if(all_is_well: bool) -> ExitCode {
    if all_is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the same exit code, or 1 for a program that was killed by a signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Formats the command as it would be typed.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Removes the escape sequences that set colors.
fn without_colors(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.trim_end_matches('\r');
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_are_kept_in_order_with_the_exit_code() {
        let finished = watch(shell("echo one; echo two >&2; echo three; exit 3")).unwrap();
        assert_eq!(finished.lines, ["one", "two", "three"]);
        assert_eq!(finished.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_its_children() {
        let started = Instant::now();
        assert_eq!(bounded(shell("sleep 60 & wait"), Duration::from_millis(100)).unwrap(), None);
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_program_within_its_time_is_left_alone() {
        assert!(bounded(shell("exit 0"), Duration::from_secs(60)).unwrap().unwrap().success());
    }

    #[test]
    fn colors_are_taken_out_before_lines_are_read() {
        assert_eq!(without_colors("\u{1b}[32;1m     Summary\u{1b}[0m [ 1s]"), "     Summary [ 1s]");
    }
}
