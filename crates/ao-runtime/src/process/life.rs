//! Whether a process lives, and whether it does something.

use std::sync::Arc;
use std::time::Duration;

use ao_core::input::{Counted, Life};
use ao_ports::{ProcessRef, RuntimeError};

use super::processes::Shared;
use crate::host::life::counted;
use crate::host::{Key, Place, procfs};

/// How long a shim may take to write down how its program has ended.
const WORD: Duration = Duration::from_secs(2);

pub(super) async fn look(shared: &Arc<Shared>, process: &ProcessRef) -> Life {
    let Ok(place) = shared.find(process) else { return Life::Unknown };
    match shared.samples.look(place.key, || one(shared, &place)).await {
        // Perhaps it is just about to be written down how it ended.
        Life::Unknown if settles(shared, place.key).await => one(shared, &place).await,
        life => life,
    }
}

async fn one(shared: &Arc<Shared>, place: &Place) -> Life {
    match count(shared, vec![place.clone()]).await.as_deref() {
        Ok([Counted { life, .. }]) => *life,
        _ => Life::Unknown,
    }
}

/// Waits a moment for the end of a process that is listened to, and says whether it has come.
async fn settles(shared: &Shared, key: Key) -> bool {
    let Some(mut link) = shared.link(key) else { return true };
    let closed = async { while link.offset.changed().await.is_ok() {} };
    tokio::time::timeout(WORD, closed).await.is_ok()
}

pub(super) async fn census(shared: &Arc<Shared>) -> Result<Vec<Counted>, RuntimeError> {
    let known = shared.clone();
    let places = tokio::task::spawn_blocking(move || Place::unended(&known.options.state_dir)).await;
    count(shared, places.map_err(|err| RuntimeError::Failed(err.to_string()))??).await
}

/// Looks at several, at each one's own processes only.
async fn count(shared: &Arc<Shared>, places: Vec<Place>) -> Result<Vec<Counted>, RuntimeError> {
    let shared = shared.clone();
    let counted = tokio::task::spawn_blocking(move || {
        places.iter().map(|place| counted(place.key, judge(&shared, place))).collect()
    });
    counted.await.map_err(|err| RuntimeError::Failed(err.to_string()))
}

fn judge(shared: &Shared, place: &Place) -> Result<Life, RuntimeError> {
    if let Some(exit) = place.exit()? {
        return Ok(Life::Gone { code: exit.code });
    }
    let Some(record) = place.record()? else {
        // Begun, but not written down: a start is under way, or was cut off and will be asked for again.
        return Ok(Life::Unknown);
    };
    let holder = place.holder()?;
    let is_held = match &holder {
        Some(holder) => holder.lives()?,
        None => false,
    };
    let is_lost = holder.is_some() && !is_held;
    if !record.lives()? {
        return match place.exit()? {
            Some(exit) => Ok(Life::Gone { code: exit.code }),
            // Somebody is about to write down how it ended.
            None if is_held => Ok(Life::Unknown),
            None => Ok(Life::Gone { code: None }),
        };
    }
    if is_lost {
        return Ok(Life::Unheld);
    }
    let used = match holder.filter(|_| is_held) {
        Some(holder) => used_below(holder.pid),
        None => used_below(record.pid) + procfs::stat(record.pid).ok().flatten().map_or(0, |own| own.used),
    };
    Ok(Life::Alive { busy: shared.samples.is_busy(place.key, used) })
}

/// The processor time of everything below a process, those counted that have come and gone.
fn used_below(pid: i32) -> u64 {
    let reaped = procfs::stat(pid).ok().flatten().map_or(0, |top| top.reaped);
    reaped + procfs::below(pid).iter().map(|process| process.used + process.reaped).sum::<u64>()
}
