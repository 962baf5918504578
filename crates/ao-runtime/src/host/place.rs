//! What is known of an attempt, in files, so that the next daemon knows it too.
//!
//! ```text
//!  <root>/<session>/<attempt>/
//!     exit         how and when the program ended
//!     output/      what it has put out, by offset
//!     ended        it is to be, or has been, ended for good
//!     …            what the runtime itself needs
//! ```
//!
//! Each runtime adds its own to [`Place`] beside its other parts.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ao_core::{Attempt, Timestamp};
use ao_ports::{ProcessRef, RuntimeError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Key;
use super::files::{self, failed};

pub(crate) const EXIT: &str = "exit";
pub(crate) const OUTPUT: &str = "output";
const ENDED: &str = "ended";

/// The folder of one attempt.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) key: Key,
    dir: PathBuf,
}

/// How a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exit {
    /// Absent if it was ended by a signal, or if nobody of ours saw it end.
    pub(crate) code: Option<i32>,
    /// The signal that ended it, if one did and somebody of ours saw which.
    pub(crate) signal: Option<i32>,
    pub(crate) at: Timestamp,
}

/// How far the end of an attempt has come. From the first on, a late start starts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    Wanted,
    Done,
}

impl Place {
    pub(crate) fn of(root: &Path, key: Key) -> Place {
        Place { key, dir: root.join(key.0.to_string()).join(key.1.to_string()) }
    }

    /// The folder that another process is told.
    pub(crate) fn at(dir: PathBuf, key: Key) -> Place {
        Place { key, dir }
    }

    /// The place of a process by its name, if it is one of ours.
    pub(crate) fn find(root: &Path, process: &ProcessRef) -> Result<Place, RuntimeError> {
        let key = || {
            let (session, attempt) = process.0.split_once('/')?;
            Some((session.parse().ok()?, Attempt(attempt.parse().ok()?)))
        };
        match key() {
            Some(key) => Ok(Place::of(root, key)),
            None => Err(RuntimeError::Failed(format!("`{}` is no process of this runtime", process.0))),
        }
    }

    /// Everything that was ever begun here and not forgotten.
    pub(crate) fn all(root: &Path) -> Result<Vec<Place>, RuntimeError> {
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let mut places = Vec::new();
        for session in files::folders(root)? {
            let Some(id) = name(&session).and_then(|name| name.parse().ok()) else { continue };
            for dir in files::folders(&session)? {
                if let Some(number) = name(&dir).and_then(|name| name.parse().ok()) {
                    places.push(Place { key: (id, Attempt(number)), dir });
                }
            }
        }
        Ok(places)
    }

    /// All but what was ended and seen to be gone. That needs no more looks; the list would grow with every attempt ever
    /// made.
    pub(crate) fn unended(root: &Path) -> Result<Vec<Place>, RuntimeError> {
        let is_unended = |place: &Place| {
            // What cannot be read is looked at, and is nothing to stop for: it is one place of many.
            place.readable(place.ending()) != Some(Ending::Done)
        };
        Ok(Place::all(root)?.into_iter().filter(is_unended).collect())
    }

    pub(crate) fn make(&self) -> Result<(), RuntimeError> {
        files::make_private(&self.dir)
    }

    /// The name by which others know the process.
    pub(crate) fn process(&self) -> ProcessRef {
        ProcessRef(format!("{}/{}", self.key.0, self.key.1))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where what it has put out is kept.
    pub(crate) fn output(&self) -> PathBuf {
        self.dir.join(OUTPUT)
    }

    pub(crate) fn exit(&self) -> Result<Option<Exit>, RuntimeError> {
        self.get(EXIT)
    }

    pub(crate) fn keep_exit(&self, exit: Exit) -> Result<(), RuntimeError> {
        self.put(EXIT, &exit)
    }

    /// What was read, if it could be. Something that cannot be read is said, and is then as good as not there.
    pub(crate) fn readable<T>(&self, read: Result<Option<T>, RuntimeError>) -> Option<T> {
        read.unwrap_or_else(|err| {
            tracing::warn!(%err, session = %self.key.0, attempt = %self.key.1, "what is known of an agent cannot be read");
            None
        })
    }

    pub(crate) fn ending(&self) -> Result<Option<Ending>, RuntimeError> {
        self.get(ENDED)
    }

    /// Only the last word is to be read after a power cut. Without the first one the end is made again, and there is
    /// nothing left to end.
    pub(crate) fn keep_ending(&self, ending: Ending) -> Result<(), RuntimeError> {
        match ending {
            Ending::Wanted => self.put(ENDED, &ending),
            Ending::Done => self.put_through(ENDED, &ending),
        }
    }

    /// How long ago it was ended.
    pub(super) fn ended_for(&self) -> Option<Duration> {
        let at = fs::metadata(self.dir.join(ENDED)).and_then(|file| file.modified()).ok()?;
        SystemTime::now().duration_since(at).ok()
    }

    /// Removes all but the memory that it was ended, if it was.
    pub(crate) fn empty(&self) -> Result<(), RuntimeError> {
        for entry in fs::read_dir(&self.dir).map_err(|err| failed("list", &self.dir, &err))? {
            let entry = entry.map_err(|err| failed("list", &self.dir, &err))?;
            let path = entry.path();
            let removed = match entry.file_type() {
                _ if entry.file_name() == ENDED => continue,
                Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            };
            match removed {
                Err(err) if err.kind() != ErrorKind::NotFound => return Err(failed("remove", &path, &err)),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, file: &str) -> Result<Option<T>, RuntimeError> {
        let path = self.dir.join(file);
        files::read(&path).map_err(|err| failed("read", &path, &err))
    }

    pub(crate) fn put<T: Serialize>(&self, file: &str, value: &T) -> Result<(), RuntimeError> {
        let path = self.dir.join(file);
        files::write(&path, value).map_err(|err| failed("write", &path, &err))
    }

    /// Does what waits for the disk where nobody else has to wait for it.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        does: impl FnOnce(&Place) -> Result<T, RuntimeError> + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let place = self.clone();
        let done = tokio::task::spawn_blocking(move || does(&place)).await;
        done.map_err(|err| RuntimeError::Failed(err.to_string()))?
    }

    /// For what has to be read after a power cut: that it was started, and that it was ended. All else can be done without.
    pub(crate) fn put_through<T: Serialize>(&self, file: &str, value: &T) -> Result<(), RuntimeError> {
        let path = self.dir.join(file);
        files::write_through(&path, value).map_err(|err| failed("write", &path, &err))
    }
}

impl Exit {
    /// One that has just been seen.
    pub(crate) fn now(code: Option<i32>, signal: Option<i32>) -> Exit {
        Exit { code, signal, at: now() }
    }

    /// One of which nobody knows more than that it has happened.
    pub(crate) fn unseen(at: Timestamp) -> Exit {
        Exit { code: None, signal: None, at }
    }
}

/// The time for those who are not given a clock, because they are processes of their own.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
