//! macOS: a program that keeps the machine from idling to sleep while it runs.

use std::process::Stdio;

use tokio::process::{Child, Command};

use super::PowerError;
use super::keeper::Bus;

#[derive(Debug)]
pub(super) struct Inhibitor {
    child: Child,
}

impl Inhibitor {
    /// Waits until the program has ended, whoever ended it.
    pub(super) async fn lost(&mut self) {
        // If it cannot be waited for, there is none any more.
        let _ = self.child.wait().await;
    }
}

pub(super) async fn inhibit(_bus: &Bus, _reason: &str) -> Result<Inhibitor, PowerError> {
    let ourselves = std::process::id().to_string();
    Command::new("caffeinate")
        // It ends with us, also if we are killed and cannot end it.
        .args(["-i", "-w", &ourselves])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map(|child| Inhibitor { child })
        .map_err(|err| PowerError {
            what: "`caffeinate` could not be started",
            why: err.to_string(),
            for_good: false,
        })
}
