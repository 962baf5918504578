//! Removes the state of attempts that ended long ago, so that the disk does not fill up.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ao_ports::RuntimeError;

use super::attempt_dir::{AttemptDir, EndState};

/// Shortest time between two sweeps.
const SELDOM: Duration = Duration::from_secs(3600);
/// Multiple of the retention time for which the note that an attempt was ended is kept. A late start comes sooner or
/// never.
const TOMBSTONE: u32 = 10;

#[derive(Default)]
pub(crate) struct AttemptSweeper {
    /// The time of the last sweep.
    last: Mutex<Option<Instant>>,
}

impl AttemptSweeper {
    /// Sweeps in the background, unless that was done recently.
    pub(crate) fn now_and_then(&self, root: PathBuf, keep: Duration) {
        let mut last = self.last.lock().expect("no thread panics while looking at the clock");
        if last.is_some_and(|last| last.elapsed() < SELDOM) {
            return;
        }
        *last = Some(Instant::now());
        // If the daemon ends meanwhile, the next one sweeps.
        tokio::task::spawn_blocking(move || {
            if let Err(err) = sweep(&root, keep) {
                tracing::warn!(%err, "what ended long ago could not be removed");
            }
        });
    }
}

fn sweep(root: &Path, keep: Duration) -> Result<(), RuntimeError> {
    for attempt_dir in AttemptDir::all(root)? {
        if attempt_dir.readable(attempt_dir.ending()) != Some(EndState::Done) {
            continue;
        }
        let Some(age) = attempt_dir.ended_for() else { continue };
        if age >= keep * TOMBSTONE {
            let _ = fs::remove_dir_all(attempt_dir.dir());
            // Fails while there are other attempts.
            let _ = attempt_dir.dir().parent().map(fs::remove_dir);
        } else if age >= keep {
            attempt_dir.empty()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ao_core::{Attempt, SessionId};

    use super::*;
    use crate::host::attempt_dir::ProgramExit;

    #[test]
    fn the_end_is_remembered_longer_than_the_output() {
        let dir = tempfile::tempdir().unwrap();
        let attempt_dir = AttemptDir::of(dir.path(), (SessionId(1), Attempt(1)));
        attempt_dir.make().unwrap();
        attempt_dir.keep_exit(ProgramExit::now(Some(0), None)).unwrap();
        sweep(dir.path(), Duration::ZERO).unwrap();
        assert!(attempt_dir.exit().unwrap().is_some(), "it was not ended");
        attempt_dir.keep_ending(EndState::Done).unwrap();
        sweep(dir.path(), Duration::from_secs(60)).unwrap();
        assert!(attempt_dir.exit().unwrap().is_some(), "it was ended just now");
        let age = fs::File::options().write(true).open(attempt_dir.dir().join("ended")).unwrap();
        age.set_modified(std::time::SystemTime::now() - Duration::from_secs(100)).unwrap();
        sweep(dir.path(), Duration::from_secs(60)).unwrap();
        assert!(
            attempt_dir.exit().unwrap().is_none() && attempt_dir.ending().unwrap() == Some(EndState::Done)
        );
        sweep(dir.path(), Duration::from_secs(5)).unwrap();
        assert!(!dir.path().join(SessionId(1).to_string()).exists());
    }
}
