//! git in the throw-away repository, as the user runs it.

use std::io;
use std::process::Stdio;

use camino::Utf8Path;
use tokio::process::Command;

use crate::error::CommandError;

/// Runs git and returns what it printed.
pub(super) async fn git(path: &Utf8Path, args: &[&str]) -> Result<String, CommandError> {
    let mut command = Command::new("git");
    // Or a demo that is started from a hook would commit to the repository that the hook is of.
    for name in ao_git::MISLEADING {
        command.env_remove(name);
    }
    let output =
        command.args(args).current_dir(path).stdin(Stdio::null()).output().await.map_err(|err| match err
            .kind()
        {
            io::ErrorKind::NotFound => {
                CommandError::environment("the program `git` was not found").hint("install git 2.36 or newer")
            }
            _ => CommandError::environment(format!("the program `git` could not be started: {err}")),
        })?;
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
