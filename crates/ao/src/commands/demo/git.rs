//! Runs git in the sample repository, as a user would.

use std::io;
use std::process::Stdio;

use camino::Utf8Path;

use crate::error::CommandError;

/// Runs git and returns its output.
pub(super) async fn git(path: &Utf8Path, args: &[&str]) -> Result<String, CommandError> {
    let failed = |err: io::Error| match err.kind() {
        io::ErrorKind::NotFound => {
            CommandError::environment("the program `git` was not found").hint("install git 2.36 or newer")
        }
        _ => CommandError::environment(format!("the program `git` could not be started: {err}")),
    };
    let mut command = ao_git::command(path.as_std_path(), false).await.map_err(failed)?;
    let output = command.args(args).stdin(Stdio::null()).output().await.map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let why = match stderr.trim_end() {
        "" => output.status.to_string(),
        said => said.to_owned(),
    };
    Err(CommandError::environment(format!("`git {}` failed in `{path}`: {why}", args.join(" "))))
}
