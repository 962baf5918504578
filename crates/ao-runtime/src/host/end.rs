//! Ends all processes of an attempt.

use std::time::Duration;

use ao_ports::RuntimeError;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::task::JoinSet;

use super::members::{self, AttemptKey, ProcessRecord};
use super::procfs::ProcessStat;
use super::wait;

/// Most rounds of killing. Each round finds only what the victims of the last one started meanwhile.
const ROUNDS: usize = 20;
/// Longest wait for a killed process to disappear.
const KILLED: Duration = Duration::from_secs(2);

/// Asks all processes of an attempt to end, kills those still there after the grace period, and returns when none is
/// left.
pub(crate) async fn all(
    key: AttemptKey,
    record: Option<&ProcessRecord>,
    grace: Duration,
) -> Result<(), RuntimeError> {
    let found = find(key, record).await?;
    if found.is_empty() {
        // The usual case, and a search costs time in proportion to the processes of the host.
        return Ok(());
    }
    wait(signal(found, Signal::TERM), grace).await;
    for _ in 0..ROUNDS {
        let left = find(key, record).await?;
        if left.is_empty() {
            return Ok(());
        }
        wait(signal(left, Signal::KILL), KILLED).await;
    }
    let left: Vec<String> = find(key, record).await?.iter().map(|process| process.pid.to_string()).collect();
    Err(RuntimeError::Failed(format!(
        "processes of attempt {} of {} do not end although they were killed: {}",
        key.1,
        key.0,
        left.join(", ")
    )))
}

async fn find(key: AttemptKey, record: Option<&ProcessRecord>) -> Result<Vec<ProcessStat>, RuntimeError> {
    let found = members::find(key, record).await;
    found.map_err(|err| RuntimeError::Failed(format!("could not look for processes in `/proc`: {err}")))
}

/// Signals each process that is still the one we saw, through a handle, and waits for all of them to end.
fn signal(processes: Vec<ProcessStat>, signal: Signal) -> JoinSet<()> {
    let mut ends = JoinSet::new();
    for process in processes {
        let Some(pidfd) = members::pidfd(process.pid, process.start) else { continue };
        match pidfd_send_signal(&pidfd, signal) {
            Ok(()) => {}
            Err(err) => tracing::debug!(%err, pid = process.pid, "a signal was not delivered"),
        }
        ends.spawn(async move {
            if let Err(err) = wait::gone(pidfd).await {
                tracing::warn!(%err, pid = process.pid, "cannot wait for an end");
            }
        });
    }
    ends
}

async fn wait(ends: JoinSet<()>, at_most: Duration) {
    // The caller checks afterwards whether all of them are gone.
    let _ = tokio::time::timeout(at_most, ends.join_all()).await;
}
