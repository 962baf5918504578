//! Whether a process lives, and whether it does something.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ao_core::input::{Counted, Life};
use ao_ports::{ProcessRef, RuntimeError};

use super::place::{Ending, Place, failed};
use super::processes::Shared;
use crate::host::{Key, Record, procfs};

/// The kernel counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);
/// Below this share of one processor a process waits: event loops wake up now and then.
const BUSY: f64 = 0.03;
/// How long to wait for a second reading, if there is none from an earlier look.
const GLANCE: Duration = Duration::from_millis(100);

/// What each process had used when it was last looked at.
pub(super) type Samples = HashMap<Key, (Instant, u64)>;

pub(super) async fn look(shared: &Arc<Shared>, process: &ProcessRef) -> Life {
    let Ok(place) = shared.find(process) else { return Life::Unknown };
    let first = count(shared, vec![place.clone()]).await;
    let fresh = !shared.samples.lock().expect("nobody panics while counting").contains_key(&place.key);
    match first.as_deref() {
        Ok([Counted { life: Life::Alive { .. }, .. }]) if fresh => {}
        Ok([Counted { life, .. }]) => return *life,
        _ => return Life::Unknown,
    }
    tokio::time::sleep(GLANCE).await;
    match count(shared, vec![place]).await.as_deref() {
        Ok([Counted { life, .. }]) => *life,
        _ => Life::Unknown,
    }
}

pub(super) async fn census(shared: &Arc<Shared>) -> Result<Vec<Counted>, RuntimeError> {
    let mut places = Place::all(&shared.options.state_dir)?;
    let mut failure = None;
    // What was ended, and seen to be gone, needs no more looks; the list would grow with every attempt ever made.
    places.retain(|place| match place.ending() {
        Ok(ending) => ending != Some(Ending::Done),
        Err(err) => {
            failure.get_or_insert(err);
            false
        }
    });
    match failure {
        Some(err) => Err(err),
        None => count(shared, places).await,
    }
}

/// The folder that the program works in now.
pub(super) fn folder(shared: &Shared, process: &ProcessRef) -> Option<String> {
    let record = shared.find(process).ok()?.record().ok()??;
    // A handle, so that what is read afterwards is of this one and not of another with its number.
    let _handle = record.pidfd()?;
    std::fs::read_link(format!("/proc/{}/cwd", record.pid)).ok()?.into_os_string().into_string().ok()
}

/// Looks at several, at each one's own processes only.
async fn count(shared: &Arc<Shared>, places: Vec<Place>) -> Result<Vec<Counted>, RuntimeError> {
    let shared = shared.clone();
    let counted =
        tokio::task::spawn_blocking(move || places.iter().map(|place| counted(&shared, place)).collect());
    counted.await.map_err(|err| RuntimeError::Failed(err.to_string()))
}

fn counted(shared: &Shared, place: &Place) -> Counted {
    let (session, attempt) = place.key;
    let life = judge(shared, place).unwrap_or_else(|err| {
        tracing::warn!(%err, %session, "cannot tell whether a process lives");
        Life::Unknown
    });
    Counted { session, attempt, life }
}

fn judge(shared: &Shared, place: &Place) -> Result<Life, RuntimeError> {
    // Asked before the files are: the end is written first, and the link goes afterwards.
    let is_linked = shared.link(place.key).is_some();
    if let Some(exit) = place.exit()? {
        return Ok(Life::Gone { code: exit.code });
    }
    let Some(record) = place.record()? else {
        // Begun, but not written down: a start is under way, or was cut off and will be asked for again.
        return Ok(Life::Unknown);
    };
    let lives = |record: &Record| record.unless_ended().map(|handle| handle.is_some());
    let cannot = |err: io::Error| failed("look at", "/proc".as_ref(), &err);
    let holder = place.holder()?;
    let is_held = holder.as_ref().map(lives).transpose().map_err(cannot)?.unwrap_or(false);
    if !lives(&record).map_err(cannot)? {
        return match place.exit()? {
            Some(exit) => Ok(Life::Gone { code: exit.code }),
            // Somebody is about to write down how it ended.
            None if is_linked || is_held => Ok(Life::Unknown),
            None => Ok(Life::Gone { code: None }),
        };
    }
    let used = match holder.filter(|_| is_held) {
        Some(holder) => used_below(holder.pid),
        None => used_below(record.pid) + procfs::stat(record.pid).ok().flatten().map_or(0, |own| own.used),
    };
    Ok(Life::Alive { busy: is_busy(shared, place.key, used) })
}

/// The processor time of everything below a process, those counted that have come and gone.
fn used_below(pid: i32) -> u64 {
    let reaped = procfs::stat(pid).ok().flatten().map_or(0, |top| top.reaped);
    reaped + procfs::below(pid).iter().map(|process| process.used + process.reaped).sum::<u64>()
}

/// Compares with the last reading and keeps this one.
fn is_busy(shared: &Shared, key: Key, used: u64) -> bool {
    let now = Instant::now();
    let mut samples = shared.samples.lock().expect("nobody panics while counting");
    match samples.insert(key, (now, used)) {
        Some((then, before)) => {
            let worked = TICK * u32::try_from(used.saturating_sub(before)).unwrap_or(u32::MAX);
            worked.as_secs_f64() >= now.duration_since(then).as_secs_f64() * BUSY && !worked.is_zero()
        }
        None => false,
    }
}
