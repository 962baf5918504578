//! The throw-away repository, as the user works in it.

use std::process::Stdio;

use camino::Utf8Path;
use tokio::process::Command;

use crate::error::CommandError;

/// Makes a repository with one commit on `main`, by somebody who is not the agent.
pub(super) async fn make(path: &Utf8Path) -> Result<(), CommandError> {
    std::fs::create_dir_all(path).map_err(CommandError::environment)?;
    git(path, &["init", "--quiet", "--initial-branch", "main"]).await?;
    for (key, value) in
        [("user.name", "You"), ("user.email", "you@example.invalid"), ("commit.gpgsign", "false")]
    {
        git(path, &["config", key, value]).await?;
    }
    std::fs::write(path.join("README.md"), "# hello\n").map_err(CommandError::environment)?;
    git(path, &["add", "."]).await?;
    git(path, &["commit", "--quiet", "-m", "First commit"]).await?;
    Ok(())
}

/// Runs git and returns what it printed.
pub(super) async fn git(path: &Utf8Path, args: &[&str]) -> Result<String, CommandError> {
    let output =
        Command::new("git").args(args).current_dir(path).stdin(Stdio::null()).output().await.map_err(
            |err| CommandError::environment(err).hint("the demo needs the program `git`; install it"),
        )?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(CommandError::environment(format!(
        "`git {}` failed in `{path}`: {}",
        args.join(" "),
        stderr.trim_end()
    )))
}
