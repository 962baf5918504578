//! Starting other programs: quietly watched, bounded in time, or in our place.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::say;

/// What a program said and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// Both outputs in the order they came, without colors, one line each.
    pub(crate) lines: Vec<String>,
}

/// The root of the repository, wherever xtask was called from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the repository")
}

/// A `cargo` call in the root of the repository. `line` is split at spaces; add with `arg` what may hold one.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(line.split_whitespace()).current_dir(root());
    command
}

/// Runs a program, shows its output as it comes, and keeps it.
pub(crate) fn watch(mut command: Command) -> Result<Finished> {
    say!("$ {}", shown(&command));
    // One pipe for both outputs keeps their order. Through a pipe, programs think nobody can see colors.
    let (reader, writer) = io::pipe()?;
    if io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("failed to start `{}`", shown(&command)))?;
    // Ours are the last write ends but the child's; the reader would wait for them for ever.
    drop(command);

    let mut lines = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        say!("{line}");
        lines.push(without_colors(&line));
    }
    Ok(Finished { status: child.wait()?, lines })
}

/// Runs a program to its end, but no longer than `limit`. Returns `None` if it had to be killed.
pub(crate) fn bounded(mut command: Command, limit: Duration) -> Result<Option<ExitStatus>> {
    say!("$ {}", shown(&command));
    let started = Instant::now();
    // A process group of its own, so that what it started ends with it.
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            // The shell's `kill`, because std knows no groups and our code has no `unsafe`.
            Command::new("sh").args(["-c", &format!("kill -s KILL -- -{}", child.id())]).status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Builds and runs a program of ours with our own terminal and input, and hands on how it ended.
pub(crate) fn forward(mut command: Command) -> Result<ExitCode> {
    // All of it beside the output, which is the program's own.
    say::aside(format_args!("$ {}\nbuilding…", shown(&command)));
    let status = command.status().with_context(|| format!("failed to start `{}`", shown(&command)))?;
    Ok(exit_code(status))
}

/// Our own exit code.
pub(crate) fn success_if(all_is_well: bool) -> ExitCode {
    if all_is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The same exit code, or 1 for a program that was killed by a signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The command as one could type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The line without the escape sequences that set colors.
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
