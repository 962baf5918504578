//! macOS: a program that keeps the machine from idle sleep while it runs.

use std::process::Stdio;

use tokio::process::{Child, Command};

use super::PowerError;
use super::keeper::PowerBus;

#[derive(Debug)]
pub(super) struct CaffeinateInhibitor {
    child: Child,
}

impl CaffeinateInhibitor {
    /// Waits until the program has exited.
    pub(super) async fn lost(&mut self) {
        // If it cannot be waited for, it is gone.
        let _ = self.child.wait().await;
    }
}

pub(super) async fn inhibit(_bus: &PowerBus, _reason: &str) -> Result<CaffeinateInhibitor, PowerError> {
    let ourselves = std::process::id().to_string();
    Command::new("caffeinate")
        // It exits with us, even if we are killed.
        .args(["-i", "-w", &ourselves])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map(|child| CaffeinateInhibitor { child })
        .map_err(|err| PowerError {
            what: "`caffeinate` could not be started",
            why: err.to_string(),
            for_good: false,
        })
}
