//! Starting other programs: quietly watched, bounded in time, or in our place.

use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};

/// The root of the repository, wherever xtask was called from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the root of the repository")
}

/// A `cargo` call in the root of the repository. `line` is split at spaces; add with `arg` what may hold one.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(line.split_whitespace()).current_dir(root());
    command
}

/// Runs a program with our own terminal and input, and hands on how it ended.
pub(crate) fn forward(mut command: Command) -> Result<ExitCode> {
    println!("$ {}", shown(&command));
    let status = command
        .status()
        .with_context(|| format!("failed to start `{}`", shown(&command)))?;
    Ok(exit_code(status))
}

/// Our own exit code.
pub(crate) fn success_if(all_is_well: bool) -> ExitCode {
    if all_is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The same exit code, or 1 for a program that was killed by a signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1),
    )
}

/// The command as one could type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
