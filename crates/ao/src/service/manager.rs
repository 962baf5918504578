//! Asks the service manager about a running daemon: whether it is the service, and to restart it.
//!
//! `ao service` installs and removes the service.

use std::time::Duration;

use tokio::process::Command;

use super::{launchd, systemd};
use crate::error::CommandError;
use crate::program;

/// A manager answers at once, unless it waits for a daemon to exit.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns true if the process is the one that the manager runs as our service. Without a manager it is not.
pub(crate) async fn is_service(pid: u32) -> bool {
    let said = if cfg!(target_os = "macos") {
        ask(&["launchctl", "list", launchd::LABEL]).await
    } else {
        ask(&["systemctl", "--user", "show", "--property", "MainPID", "--value", systemd::UNIT]).await
    };
    said.is_ok_and(|said| said.split(|c: char| !c.is_ascii_digit()).any(|word| word == pid.to_string()))
}

/// Restarts the service's daemon. Agents keep running.
pub(crate) async fn restart() -> Result<(), CommandError> {
    let service = format!("gui/{}/{}", rustix::process::getuid().as_raw(), launchd::LABEL);
    let words: &[&str] = if cfg!(target_os = "macos") {
        &["launchctl", "kickstart", "-k", &service]
    } else {
        &["systemctl", "--user", "restart", systemd::UNIT]
    };
    ask(words).await.map(drop)
}

async fn ask(words: &[&str]) -> Result<String, CommandError> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    let output = program::ask(command, LIMIT).await.map_err(CommandError::environment)?;
    if output.status.success() {
        return Ok(program::text(&output.stdout));
    }
    let said = program::text(&output.stderr);
    Err(CommandError::environment(format!("`{}` failed: {said}", words.join(" ")))
        .hint("`ao service status` shows its state"))
}
