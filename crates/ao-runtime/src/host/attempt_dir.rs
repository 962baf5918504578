//! The state of an attempt, in files, so that the next daemon finds it.
//!
//! ```text
//!  <root>/<session>/<attempt>/
//!     exit         how and when the program ended
//!     output/      what it has put out, by offset
//!     files/       the files of its command, until it is ended
//!     ended        it is to be, or has been, ended for good
//!     …            what the runtime itself needs
//! ```
//!
//! Each runtime extends [`AttemptDir`] in its own module.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ao_core::{Attempt, Timestamp};
use ao_ports::{ProcessRef, ProgramCommand, RuntimeError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::AttemptKey;
use super::files::{self, failed};

pub(crate) const EXIT: &str = "exit";
pub(crate) const OUTPUT: &str = "output";
const ENDED: &str = "ended";
const FILES: &str = "files";

/// The folder of one attempt.
#[derive(Debug, Clone)]
pub(crate) struct AttemptDir {
    pub(crate) key: AttemptKey,
    dir: PathBuf,
}

/// The exit of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramExit {
    /// Absent if a signal ended it, or if no process of ours saw it end.
    pub(crate) code: Option<i32>,
    /// The signal that ended it, if one did and a process of ours saw it.
    pub(crate) signal: Option<i32>,
    pub(crate) at: Timestamp,
}

/// The progress of ending an attempt. From `Wanted` on, a late start starts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndState {
    Wanted,
    Done,
}

impl AttemptDir {
    pub(crate) fn of(root: &Path, key: AttemptKey) -> AttemptDir {
        AttemptDir { key, dir: root.join(key.0.to_string()).join(key.1.to_string()) }
    }

    /// Wraps a folder whose path was passed to this process.
    pub(crate) fn at(dir: PathBuf, key: AttemptKey) -> AttemptDir {
        AttemptDir { key, dir }
    }

    /// Returns the folder of a process by its reference, if it is one of this runtime.
    pub(crate) fn find(root: &Path, runtime: &str, process: &ProcessRef) -> Result<AttemptDir, RuntimeError> {
        let key = || {
            let (session, attempt) = process.id.split_once('/')?;
            Some((session.parse().ok()?, Attempt(attempt.parse().ok()?)))
        };
        match key().filter(|_| process.runtime == runtime) {
            Some(key) => Ok(AttemptDir::of(root, key)),
            None => Err(RuntimeError::Failed(format!("`{process}` is no process of this runtime"))),
        }
    }

    /// Lists all attempts that were ever begun here and not forgotten.
    pub(crate) fn all(root: &Path) -> Result<Vec<AttemptDir>, RuntimeError> {
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let mut places = Vec::new();
        for session in files::folders(root)? {
            let Some(id) = name(&session).and_then(|name| name.parse().ok()) else { continue };
            for dir in files::folders(&session)? {
                if let Some(number) = name(&dir).and_then(|name| name.parse().ok()) {
                    places.push(AttemptDir { key: (id, Attempt(number)), dir });
                }
            }
        }
        Ok(places)
    }

    /// Lists all attempts except those that have certainly ended. Ended ones need no further looks; without this
    /// filter, the list would grow with every attempt ever made.
    pub(crate) fn unended(root: &Path) -> Result<Vec<AttemptDir>, RuntimeError> {
        let is_unended = |attempt_dir: &AttemptDir| {
            // An unreadable one is included, and does not stop the others.
            attempt_dir.readable(attempt_dir.ending()) != Some(EndState::Done)
        };
        Ok(AttemptDir::all(root)?.into_iter().filter(is_unended).collect())
    }

    pub(crate) fn make(&self) -> Result<(), RuntimeError> {
        files::make_private(&self.dir)
    }

    /// Returns the reference by which others know the process.
    pub(crate) fn process(&self, runtime: &str) -> ProcessRef {
        ProcessRef::new(runtime, format!("{}/{}", self.key.0, self.key.1))
    }

    /// Writes the files of a command, private to it, and returns its arguments with their paths.
    pub(crate) fn place_files(&self, command: &ProgramCommand) -> Result<Vec<String>, RuntimeError> {
        let folder = self.dir.join(FILES);
        let folder = std::path::absolute(&folder).map_err(|err| failed("find", &folder, &err))?;
        if !command.files.is_empty() {
            files::make_private(&folder)?;
        }
        for file in &command.files {
            let path = folder.join(&file.name);
            if path.parent() != Some(&folder) {
                return Err(RuntimeError::Failed(format!("`{}` is no plain name of a file", file.name)));
            }
            files::replace(&path, file.contents.as_bytes()).map_err(|err| failed("write", &path, &err))?;
        }
        Ok(command.args_with_files_in(&folder.to_string_lossy()))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the folder with its recorded output.
    pub(crate) fn output(&self) -> PathBuf {
        self.dir.join(OUTPUT)
    }

    pub(crate) fn exit(&self) -> Result<Option<ProgramExit>, RuntimeError> {
        self.get(EXIT)
    }

    pub(crate) fn keep_exit(&self, exit: ProgramExit) -> Result<(), RuntimeError> {
        self.put(EXIT, &exit)
    }

    /// Returns the value that was read, if any. A read error is logged and then treated as absent.
    pub(crate) fn readable<T>(&self, read: Result<Option<T>, RuntimeError>) -> Option<T> {
        read.unwrap_or_else(|err| {
            tracing::warn!(%err, session = %self.key.0, attempt = %self.key.1, "what is known of an agent cannot be read");
            None
        })
    }

    pub(crate) fn ending(&self) -> Result<Option<EndState>, RuntimeError> {
        self.get(ENDED)
    }

    /// Only `Done` has to survive a power cut. If `Wanted` is lost, the end is repeated, and finds nothing left to end.
    pub(crate) fn keep_ending(&self, ending: EndState) -> Result<(), RuntimeError> {
        match ending {
            EndState::Wanted => self.put(ENDED, &ending),
            EndState::Done => {
                // They are for the process alone, and may contain what others wrote.
                let _ = fs::remove_dir_all(self.dir.join(FILES));
                self.put_through(ENDED, &ending)
            }
        }
    }

    /// Returns how long ago it was ended.
    pub(super) fn ended_for(&self) -> Option<Duration> {
        let at = fs::metadata(self.dir.join(ENDED)).and_then(|file| file.modified()).ok()?;
        SystemTime::now().duration_since(at).ok()
    }

    /// Removes everything except the note that it was ended.
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

    /// Runs disk work on a blocking thread.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        does: impl FnOnce(&AttemptDir) -> Result<T, RuntimeError> + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let attempt_dir = self.clone();
        let done = tokio::task::spawn_blocking(move || does(&attempt_dir)).await;
        done.map_err(|err| RuntimeError::Failed(err.to_string()))?
    }

    /// Writes a file that has to survive a power cut: that it was started, and that it was ended. Everything else can
    /// be reconstructed.
    pub(crate) fn put_through<T: Serialize>(&self, file: &str, value: &T) -> Result<(), RuntimeError> {
        let path = self.dir.join(file);
        files::write_through(&path, value).map_err(|err| failed("write", &path, &err))
    }
}

impl ProgramExit {
    /// An exit that was seen just now.
    pub(crate) fn now(code: Option<i32>, signal: Option<i32>) -> ProgramExit {
        ProgramExit { code, signal, at: now() }
    }

    /// An exit of which only the time is known.
    pub(crate) fn unseen(at: Timestamp) -> ProgramExit {
        ProgramExit { code: None, signal: None, at }
    }
}

/// Returns the current time, for processes that have no injected clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
