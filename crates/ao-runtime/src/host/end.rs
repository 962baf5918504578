//! Ending all that belongs to an attempt.

use std::time::Duration;

use ao_ports::RuntimeError;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::task::JoinSet;

use super::members::{self, Key, Record};
use super::procfs::ProcessStat;
use super::wait;

/// How often what is still there is killed. Each round finds only what the last one's victims started meanwhile.
const ROUNDS: usize = 20;
/// How long a killed process may take to go.
const KILLED: Duration = Duration::from_secs(2);

/// Asks all that runs of an attempt to end, and kills what is still there after the grace, until nothing is left.
pub(crate) async fn all(key: Key, record: Option<&Record>, grace: Duration) -> Result<(), RuntimeError> {
    let found = find(key, record).await?;
    if found.is_empty() {
        // By far the most often, and a look costs as much as the host has processes.
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

async fn find(key: Key, record: Option<&Record>) -> Result<Vec<ProcessStat>, RuntimeError> {
    let found = members::find(key, record).await;
    found.map_err(|err| RuntimeError::Failed(format!("could not look for processes in `/proc`: {err}")))
}

/// Sends a signal through a handle to each that is still the one that was seen, and waits for all their ends.
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
    // Whether all of them are gone is found out afterwards.
    let _ = tokio::time::timeout(at_most, ends.join_all()).await;
}
