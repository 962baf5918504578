//! Determines whether a process is alive, and whether it is busy.

use std::sync::Arc;
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_ports::{CensusEntry, ProcessRef, RuntimeError};

use super::processes::{NAME, SharedProcesses};
use crate::host::life::entry;
use crate::host::{AttemptDir, AttemptKey, procfs};

/// Time that a shim may take to record the exit of its program.
const WORD: Duration = Duration::from_secs(2);

pub(super) async fn look(shared: &Arc<SharedProcesses>, process: &ProcessRef) -> ProcessLife {
    let Ok(attempt_dir) = shared.find(process) else { return ProcessLife::Unknown };
    match shared.host.samples.look(attempt_dir.key, || one(shared, &attempt_dir)).await {
        // Perhaps the exit is just about to be recorded.
        ProcessLife::Unknown if settles(shared, attempt_dir.key).await => one(shared, &attempt_dir).await,
        life => life,
    }
}

async fn one(shared: &Arc<SharedProcesses>, attempt_dir: &AttemptDir) -> ProcessLife {
    match count(shared, vec![attempt_dir.clone()]).await.as_deref() {
        Ok([CensusEntry { life, .. }]) => *life,
        _ => ProcessLife::Unknown,
    }
}

/// Waits briefly for the end of a linked process. Returns true if it has ended, or has no link.
async fn settles(shared: &SharedProcesses, key: AttemptKey) -> bool {
    let Some(mut link) = shared.link(key) else { return true };
    let closed = async { while link.offset.changed().await.is_ok() {} };
    tokio::time::timeout(WORD, closed).await.is_ok()
}

pub(super) async fn census(shared: &Arc<SharedProcesses>) -> Result<Vec<CensusEntry>, RuntimeError> {
    let known = shared.clone();
    let places = tokio::task::spawn_blocking(move || AttemptDir::unended(&known.options.state_dir)).await;
    count(shared, places.map_err(|err| RuntimeError::Failed(err.to_string()))??).await
}

/// Looks at several processes, and only at each one's own descendants.
async fn count(
    shared: &Arc<SharedProcesses>,
    places: Vec<AttemptDir>,
) -> Result<Vec<CensusEntry>, RuntimeError> {
    let shared = shared.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let look = |place: &AttemptDir| entry(NAME, place, place.record(), judge(&shared, place));
        places.iter().map(look).collect()
    });
    counted.await.map_err(|err| RuntimeError::Failed(err.to_string()))
}

fn judge(shared: &SharedProcesses, attempt_dir: &AttemptDir) -> Result<ProcessLife, RuntimeError> {
    if let Some(exit) = attempt_dir.exit()? {
        return Ok(ProcessLife::Gone { code: exit.code });
    }
    let Some(record) = attempt_dir.record()? else {
        // Begun, but without a record: a start is under way, or was interrupted and will be retried.
        return Ok(ProcessLife::Unknown);
    };
    let holder = attempt_dir.holder()?;
    let is_held = match &holder {
        Some(holder) => holder.lives()?,
        None => false,
    };
    let is_lost = holder.is_some() && !is_held;
    if !record.lives()? {
        return match attempt_dir.exit()? {
            Some(exit) => Ok(ProcessLife::Gone { code: exit.code }),
            // The shim is about to record the exit.
            None if is_held => Ok(ProcessLife::Unknown),
            None => Ok(ProcessLife::Gone { code: None }),
        };
    }
    if is_lost {
        return Ok(ProcessLife::Unheld);
    }
    let used = match holder.filter(|_| is_held) {
        Some(holder) => used_below(holder.pid),
        None => used_below(record.pid) + procfs::stat(record.pid).ok().flatten().map_or(0, |own| own.used),
    };
    Ok(ProcessLife::Alive { busy: shared.host.samples.is_busy(attempt_dir.key, used) })
}

/// Returns the processor time of all descendants of a process, including those that have ended.
fn used_below(pid: i32) -> u64 {
    let reaped = procfs::stat(pid).ok().flatten().map_or(0, |top| top.reaped);
    reaped + procfs::below(pid).iter().map(|process| process.used + process.reaped).sum::<u64>()
}
