//! The throw-away repository, as the user works in it.

use std::io;
use std::process::Stdio;

use camino::Utf8Path;
use tokio::process::Command;

use crate::error::CommandError;

/// Makes a repository with one commit on `main`, by somebody who is not the agent.
pub(super) async fn make(path: &Utf8Path) -> Result<(), CommandError> {
    std::fs::create_dir_all(path).map_err(CommandError::environment)?;
    git(path, &["init", "--quiet", "--initial-branch", "main"]).await?;
    let settings = [
        ("user.name", "You"),
        ("user.email", "you@example.invalid"),
        ("commit.gpgsign", "false"),
        // What the user's own hooks ask of a commit is not what is shown here.
        ("core.hooksPath", "/dev/null"),
        // It outlives the commit that began it, in the worktree, which the gate then keeps for it.
        ("maintenance.auto", "false"),
    ];
    for (key, value) in settings {
        git(path, &["config", key, value]).await?;
    }
    std::fs::write(path.join("README.md"), "# hello\n").map_err(CommandError::environment)?;
    git(path, &["add", "."]).await?;
    git(path, &["commit", "--quiet", "-m", "First commit"]).await?;
    Ok(())
}

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
