//! What is known of a process, in files, so that the next daemon knows it too.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ao_core::{Attempt, Timestamp};
use ao_ports::{ProcessRef, RuntimeError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::{Key, Record};

/// The folder of one process.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) key: Key,
    dir: PathBuf,
}

/// How a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exit {
    /// Absent if it was ended by a signal, or if nobody of ours saw it end.
    pub(super) code: Option<i32>,
    /// The signal that ended it, if one did and somebody of ours saw it.
    pub(super) signal: Option<i32>,
    pub(super) at: Timestamp,
}

/// How far the end of an attempt has come. From the first on, a late start starts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    Wanted,
    Done,
}

impl Place {
    pub(super) fn of(state_dir: &Path, key: Key) -> Place {
        Place { key, dir: state_dir.join(key.0.to_string()).join(key.1.to_string()) }
    }

    /// The folder that a shim is told.
    pub(super) fn at(dir: PathBuf, key: Key) -> Place {
        Place { key, dir }
    }

    /// Everything that was ever begun here and not forgotten.
    pub(super) fn all(state_dir: &Path) -> Result<Vec<Place>, RuntimeError> {
        let mut places = Vec::new();
        for session in folders(state_dir)? {
            let Some(id) = name(&session).and_then(|name| name.parse().ok()) else { continue };
            for attempt in folders(&session)? {
                if let Some(number) = name(&attempt).and_then(|name| name.parse().ok()) {
                    places.push(Place::of(state_dir, (id, Attempt(number))));
                }
            }
        }
        Ok(places)
    }

    /// Makes the folder, private to the user: what agents are told and say passes through it.
    pub(super) fn make(&self) -> Result<(), RuntimeError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .map_err(|err| failed("make the folder", &self.dir, &err))
    }

    pub(super) fn process(&self) -> ProcessRef {
        ProcessRef(format!("{}/{}", self.key.0, self.key.1))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the segments of its output are.
    pub(super) fn output(&self) -> PathBuf {
        self.dir.join("output")
    }

    pub(super) fn errors(&self) -> PathBuf {
        self.dir.join("errors.log")
    }

    /// By holding this, a shim says that it lives.
    pub(super) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// By holding this, a shim says that it is starting something.
    pub(super) fn start_lock(&self) -> PathBuf {
        self.dir.join("start.lock")
    }

    pub(super) fn begun(&self) -> Result<bool, RuntimeError> {
        Ok(read::<()>(&self.dir.join("begun"))?.is_some())
    }

    pub(super) fn begin(&self) -> Result<(), RuntimeError> {
        write(&self.dir.join("begun"), &())
    }

    pub(super) fn record(&self) -> Result<Option<Record>, RuntimeError> {
        read(&self.dir.join("record"))
    }

    pub(super) fn keep_record(&self, record: &Record) -> Result<(), RuntimeError> {
        write(&self.dir.join("record"), record)
    }

    /// The shim, in the same words as the program.
    pub(super) fn holder(&self) -> Result<Option<Record>, RuntimeError> {
        read(&self.dir.join("holder"))
    }

    pub(super) fn keep_holder(&self, record: &Record) -> Result<(), RuntimeError> {
        write(&self.dir.join("holder"), record)
    }

    pub(super) fn forget_holder(&self) -> Result<(), RuntimeError> {
        let path = self.dir.join("holder");
        fs::remove_file(&path).map_err(|err| failed("remove", &path, &err))
    }

    pub(super) fn exit(&self) -> Result<Option<Exit>, RuntimeError> {
        read(&self.dir.join("exit"))
    }

    pub(super) fn keep_exit(&self, exit: Exit) -> Result<(), RuntimeError> {
        write(&self.dir.join("exit"), &exit)
    }

    /// The shim has gone because nothing was left to hold.
    pub(super) fn is_left(&self) -> Result<bool, RuntimeError> {
        Ok(read::<()>(&self.dir.join("left"))?.is_some())
    }

    pub(super) fn keep_left(&self) -> Result<(), RuntimeError> {
        write(&self.dir.join("left"), &())
    }

    pub(super) fn ending(&self) -> Result<Option<Ending>, RuntimeError> {
        read(&self.dir.join("ended"))
    }

    pub(super) fn keep_ending(&self, ending: Ending) -> Result<(), RuntimeError> {
        write(&self.dir.join("ended"), &ending)
    }
}

/// Reads which process is meant from its name.
pub(super) fn key_of(process: &ProcessRef) -> Option<Key> {
    let (session, attempt) = process.0.split_once('/')?;
    Some((session.parse().ok()?, Attempt(attempt.parse().ok()?)))
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, RuntimeError> {
    match fs::read_dir(path) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(err) => Err(failed("list", path, &err)),
    }
}

fn name(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RuntimeError> {
    match fs::read(path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|err| failed("read", path, &err.into()))
        }
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(failed("read", path, &err)),
    }
}

/// Whole or not at all.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), RuntimeError> {
    let json = serde_json::to_vec(value).map_err(|err| failed("write", path, &err.into()))?;
    let partial = path.with_extension("partial");
    fs::write(&partial, json)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(|err| failed("write", path, &err))
}

pub(super) fn failed(what: &str, path: &Path, err: &io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("could not {what} `{}`: {err}", path.display()))
}
