//! Letting go of what ended long ago, so that the disk does not fill up.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ao_ports::RuntimeError;

use super::place::{Ending, Place};

/// How often, at most, it is looked for.
const SELDOM: Duration = Duration::from_secs(3600);
/// For so many times as long as output is kept, it is remembered that an attempt was ended. A late start of it comes sooner
/// or never.
const TOMBSTONE: u32 = 10;

#[derive(Default)]
pub(crate) struct Sweep {
    /// When what ended long ago was last looked for.
    last: Mutex<Option<Instant>>,
}

impl Sweep {
    /// Sweeps, unless that was done not long ago. Nobody waits for it.
    pub(crate) fn now_and_then(&self, root: PathBuf, keep: Duration) {
        let mut last = self.last.lock().expect("nobody panics while looking at the clock");
        if last.is_some_and(|last| last.elapsed() < SELDOM) {
            return;
        }
        *last = Some(Instant::now());
        // Cut off by the end of the daemon, it is done by the next one.
        tokio::task::spawn_blocking(move || {
            if let Err(err) = sweep(&root, keep) {
                tracing::warn!(%err, "what ended long ago could not be removed");
            }
        });
    }
}

fn sweep(root: &Path, keep: Duration) -> Result<(), RuntimeError> {
    for place in Place::all(root)? {
        if place.readable(place.ending()) != Some(Ending::Done) {
            continue;
        }
        let Some(age) = place.ended_for() else { continue };
        if age >= keep * TOMBSTONE {
            let _ = fs::remove_dir_all(place.dir());
            // Fails while there are other attempts.
            let _ = place.dir().parent().map(fs::remove_dir);
        } else if age >= keep {
            place.empty()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ao_core::{Attempt, SessionId};

    use super::*;
    use crate::host::place::Exit;

    #[test]
    fn what_was_ended_is_remembered_longer_than_what_it_said() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::of(dir.path(), (SessionId(1), Attempt(1)));
        place.make().unwrap();
        place.keep_exit(Exit::now(Some(0), None)).unwrap();
        sweep(dir.path(), Duration::ZERO).unwrap();
        assert!(place.exit().unwrap().is_some(), "it was not ended");
        place.keep_ending(Ending::Done).unwrap();
        sweep(dir.path(), Duration::from_secs(60)).unwrap();
        assert!(place.exit().unwrap().is_some(), "it was ended just now");
        let age = fs::File::options().write(true).open(place.dir().join("ended")).unwrap();
        age.set_modified(std::time::SystemTime::now() - Duration::from_secs(100)).unwrap();
        sweep(dir.path(), Duration::from_secs(60)).unwrap();
        assert!(place.exit().unwrap().is_none() && place.ending().unwrap() == Some(Ending::Done));
        sweep(dir.path(), Duration::from_secs(5)).unwrap();
        assert!(!dir.path().join(SessionId(1).to_string()).exists());
    }
}
