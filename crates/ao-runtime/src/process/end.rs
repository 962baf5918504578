//! Ending an attempt, all of it, for good.

use std::sync::Arc;
use std::time::Duration;

use ao_ports::{EndOrder, RuntimeError};
use rustix::process::{Signal, pidfd_send_signal};
use tokio::task::JoinSet;

use super::place::{Ending, Place, failed};
use super::processes::Shared;
use super::procfs::Stat;
use super::{members, watch};

/// How often what is still there is killed. Each round finds only what the last one's victims started meanwhile.
const ROUNDS: usize = 20;
/// How long a killed process may take to go.
const KILLED: Duration = Duration::from_secs(2);

pub(super) async fn end(shared: &Arc<Shared>, order: &EndOrder) -> Result<(), RuntimeError> {
    let key = (order.session, order.attempt);
    let _turn = shared.turn(key).await;
    let place = shared.place(key);
    if place.ending()? == Some(Ending::Done) {
        return Ok(());
    }
    // First of all, so that a start that comes late finds it.
    place.make()?;
    place.keep_ending(Ending::Wanted)?;
    let asked = signal(find(&place).await?, Signal::TERM);
    wait(asked, shared.options.grace).await;
    for _ in 0..ROUNDS {
        let left = find(&place).await?;
        if left.is_empty() {
            shared.samples.lock().expect("nobody panics while counting").remove(&key);
            shared.written.lock().expect("nobody panics while counting").remove(&key);
            return place.keep_ending(Ending::Done);
        }
        wait(signal(left, Signal::KILL), KILLED).await;
    }
    let left: Vec<String> = find(&place).await?.iter().map(|process| process.pid.to_string()).collect();
    Err(RuntimeError::Failed(format!(
        "processes of attempt {} of {} do not end although they were killed: {}",
        order.attempt,
        order.session,
        left.join(", ")
    )))
}

async fn find(place: &Place) -> Result<Vec<Stat>, RuntimeError> {
    let (key, record) = (place.key, place.record()?);
    tokio::task::spawn_blocking(move || members::of(key, record.as_ref()))
        .await
        .map_err(|err| RuntimeError::Failed(err.to_string()))?
        .map_err(|err| failed("look for processes in", "/proc".as_ref(), &err))
}

/// Sends a signal through a handle to each that is still the one that was seen, and waits for all their ends.
fn signal(processes: Vec<Stat>, signal: Signal) -> JoinSet<()> {
    let mut ends = JoinSet::new();
    for process in processes {
        let Some(pidfd) = members::pidfd(process.pid, process.start) else { continue };
        match pidfd_send_signal(&pidfd, signal) {
            Ok(()) => {}
            Err(err) => tracing::debug!(%err, pid = process.pid, "a signal was not delivered"),
        }
        ends.spawn(async move {
            if let Err(err) = watch::gone(pidfd).await {
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
