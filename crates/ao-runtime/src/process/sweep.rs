//! Letting go of what ended long ago, so that the disk does not fill up.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use ao_ports::RuntimeError;

use super::place::{Ending, Place};
use super::processes::Shared;

/// How often, at most, it is looked for.
const SELDOM: Duration = Duration::from_secs(3600);
/// For so many times as long as output is kept, it is remembered that an attempt was ended. A late start of it comes sooner
/// or never.
const TOMBSTONE: u32 = 10;

/// Sweeps, unless that was done not long ago. Nobody waits for it.
pub(super) fn now_and_then(shared: &Shared) {
    let mut last = shared.swept.lock().expect("nobody panics while looking at the clock");
    if last.is_some_and(|last| last.elapsed() < SELDOM) {
        return;
    }
    *last = Some(Instant::now());
    let (dir, keep) = (shared.options.state_dir.clone(), shared.options.keep_ended);
    // Cut off by the end of the daemon, it is done by the next one.
    tokio::task::spawn_blocking(move || {
        if let Err(err) = sweep(&dir, keep) {
            tracing::warn!(%err, "what ended long ago could not be removed");
        }
    });
}

fn sweep(state_dir: &Path, keep: Duration) -> Result<(), RuntimeError> {
    for place in Place::all(state_dir)? {
        if place.ending()? != Some(Ending::Done) {
            continue;
        }
        let age = fs::metadata(place.dir().join("ended"))
            .and_then(|file| file.modified())
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        let Some(age) = age else { continue };
        if age >= keep * TOMBSTONE {
            let _ = fs::remove_dir_all(place.dir());
            // Fails while there are other attempts.
            let _ = place.dir().parent().map(fs::remove_dir);
        } else if age >= keep {
            forget(&place);
        }
    }
    Ok(())
}

/// Removes all of an ended attempt but the memory that it was ended.
pub(super) fn forget(place: &Place) {
    let _ = fs::remove_dir_all(place.output());
    let entries = fs::read_dir(place.dir()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name() != "ended") {
        let _ = fs::remove_file(entry.path());
    }
}
