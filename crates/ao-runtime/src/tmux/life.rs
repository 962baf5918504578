//! Whether an agent lives, and whether it does something.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ao_core::input::{Counted, Life};
use ao_ports::{ProcessRef, RuntimeError};

use super::control::ControlError;
use super::place::{Ending, Place, failed};
use super::runtime::Shared;
use crate::host::procfs::{self, Stat};
use crate::host::{Key, Record};

/// The kernel counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);
/// Below this share of one processor an agent waits: event loops wake up now and then.
const BUSY: f64 = 0.03;
/// How long to wait for a second reading, if there is none from an earlier look.
const GLANCE: Duration = Duration::from_millis(100);

/// What each agent had used when it was last looked at.
pub(super) type Samples = HashMap<Key, (Instant, u64)>;

pub(super) async fn look(shared: &Arc<Shared>, process: &ProcessRef) -> Life {
    let Ok(place) = shared.find(process) else { return Life::Unknown };
    let fresh = !shared.samples.lock().expect("nobody panics while counting").contains_key(&place.key);
    let first = count(shared, vec![place.clone()]).await;
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
    let mut places = Vec::new();
    for place in Place::all(&shared.agents())? {
        // What was ended, and seen to be gone, needs no more looks; the list would grow with every attempt ever made.
        if place.ending()? != Some(Ending::Done) {
            places.push(place);
        }
    }
    count(shared, places).await
}

/// Looks at several with one question to tmux and one reading of the process table.
async fn count(shared: &Arc<Shared>, places: Vec<Place>) -> Result<Vec<Counted>, RuntimeError> {
    // Whether tmux answers is a part of the look: without it an agent may live and yet not be reached.
    let probe = match shared.control.ask(&["display-message -p ''".to_owned()]).await {
        Ok(_) | Err(ControlError::Gone) => Ok(()),
        Err(err) => Err(err),
    };
    let shared = shared.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let all = procfs::all();
        places.iter().map(|place| counted(&shared, place, &probe, &all)).collect()
    });
    counted.await.map_err(|err| RuntimeError::Failed(err.to_string()))
}

fn counted(
    shared: &Shared,
    place: &Place,
    probe: &Result<(), ControlError>,
    all: &io::Result<Vec<Stat>>,
) -> Counted {
    let (session, attempt) = place.key;
    let life = judge(shared, place, probe, all).unwrap_or_else(|err| {
        tracing::warn!(%err, %session, "cannot tell whether an agent lives");
        Life::Unknown
    });
    Counted { session, attempt, life }
}

fn judge(
    shared: &Shared,
    place: &Place,
    probe: &Result<(), ControlError>,
    all: &io::Result<Vec<Stat>>,
) -> Result<Life, RuntimeError> {
    // Asked before the files are: the waiter writes the exit first and stops counting it afterwards.
    let waited_for = shared.is_waited_for(place.key);
    if let Some(exit) = place.exit()? {
        return Ok(Life::Gone { code: exit.code });
    }
    probe.clone()?;
    let all = all.as_ref().map_err(|err| failed("list", "/proc".as_ref(), err))?;
    let Some(record) = place.record()? else {
        // A start is under way, or was cut off and will be asked for again.
        return Ok(Life::Unknown);
    };
    let record = &record.process;
    let lives = record.is_of_this_boot()
        && all
            .iter()
            .any(|process| process.pid == record.pid && process.start == record.start && !process.zombie);
    if !lives && !waited_for {
        return Ok(Life::Gone { code: None });
    }
    Ok(Life::Alive { busy: is_busy(shared, place.key, used(record, all)) })
}

/// The processor time of all that the agent's terminal holds. The agent leads its session, and shells in it make groups.
fn used(record: &Record, all: &[Stat]) -> u64 {
    all.iter()
        .filter(|process| process.session == record.pid && process.start >= record.start)
        .map(|process| process.used)
        .sum()
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
