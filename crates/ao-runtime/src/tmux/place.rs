//! What is known of an agent, in files, so that the next daemon and the helpers know it too.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ao_core::Attempt;
use ao_ports::{ProcessRef, RuntimeError};
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::helper::FINISH;
use crate::host::{self, Key};

/// The folder of one agent.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) key: Key,
    pub(super) dir: PathBuf,
}

/// By what an agent and its pane are known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) process: host::Record,
    /// The server that has the pane: ids mean nothing to another one.
    pub(super) server: host::Record,
    /// As `%1`.
    pub(super) pane: String,
    /// As `$1`.
    pub(super) session: String,
    /// The session's name.
    pub(super) name: String,
}

/// How an agent has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exit {
    /// Absent if it was ended by a signal, or if nobody saw it end.
    pub(super) code: Option<i32>,
}

/// How far the end of an attempt has come. From the first on, a late start starts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    Wanted,
    Done,
}

impl Place {
    pub(super) fn of(agents: &Path, key: Key) -> Place {
        Place { key, dir: agents.join(key.0.to_string()).join(key.1.to_string()) }
    }

    /// Everything that was ever begun here and not forgotten.
    pub(super) fn all(agents: &Path) -> Result<Vec<Place>, RuntimeError> {
        let mut places = Vec::new();
        for session in folders(agents)? {
            let Some(id) = name(&session).and_then(|name| name.parse().ok()) else { continue };
            for attempt in folders(&session)? {
                if let Some(number) = name(&attempt).and_then(|name| name.parse().ok()) {
                    places.push(Place::of(agents, (id, Attempt(number))));
                }
            }
        }
        Ok(places)
    }

    pub(super) fn make(&self) -> Result<(), RuntimeError> {
        make_private(&self.dir)
    }

    pub(super) fn process(&self) -> ProcessRef {
        ProcessRef(format!("{}/{}", self.key.0, self.key.1))
    }

    pub(super) fn record(&self) -> Result<Option<Record>, RuntimeError> {
        self.get("record")
    }

    pub(super) fn keep_record(&self, record: &Record) -> Result<(), RuntimeError> {
        self.put("record", record)
    }

    /// Removes all but the memory that it was ended, if it was.
    pub(super) fn empty(&self) -> Result<(), RuntimeError> {
        for entry in fs::read_dir(&self.dir).map_err(|err| failed("list", &self.dir, &err))? {
            let entry = entry.map_err(|err| failed("list", &self.dir, &err))?;
            if entry.file_name() != ENDED {
                fs::remove_file(entry.path()).map_err(|err| failed("remove", &entry.path(), &err))?;
            }
        }
        Ok(())
    }

    /// How long ago it was ended.
    pub(super) fn ended_for(&self) -> Option<Duration> {
        let at = fs::metadata(self.dir.join(ENDED)).and_then(|file| file.modified()).ok()?;
        SystemTime::now().duration_since(at).ok()
    }

    pub(super) fn is_launched(&self) -> bool {
        self.dir.join(LAUNCHED).exists()
    }

    /// Whether somebody keeps the output: its keeper has the pipe open by which it is told of the end.
    pub(super) fn is_kept(&self) -> bool {
        OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(self.dir.join(FINISH))
            .is_ok()
    }

    /// The output has come to its end, whatever has become of the agent.
    pub(super) fn is_closed(&self) -> bool {
        self.dir.join(CLOSED).exists()
    }

    pub(super) fn exit(&self) -> Result<Option<Exit>, RuntimeError> {
        self.get(EXIT)
    }

    pub(super) fn keep_exit(&self, exit: Exit) -> Result<(), RuntimeError> {
        self.put(EXIT, &exit)
    }

    pub(super) fn ending(&self) -> Result<Option<Ending>, RuntimeError> {
        self.get(ENDED)
    }

    pub(super) fn keep_ending(&self, ending: Ending) -> Result<(), RuntimeError> {
        self.put(ENDED, &ending)
    }

    fn get<T: DeserializeOwned>(&self, file: &str) -> Result<Option<T>, RuntimeError> {
        let path = self.dir.join(file);
        read(&path).map_err(|err| failed("read", &path, &err))
    }

    fn put<T: Serialize>(&self, file: &str, value: &T) -> Result<(), RuntimeError> {
        let path = self.dir.join(file);
        write(&path, value).map_err(|err| failed("write", &path, &err))
    }
}

const LAUNCHED: &str = "launched";
const CLOSED: &str = "closed";
const EXIT: &str = "exit";
const ENDED: &str = "ended";
const SOCKET: &str = "launch";

/// The socket of a folder, by a path that is short however deep the folder lies: the kernel takes 107 bytes.
pub(super) fn socket_in(folder: &File) -> PathBuf {
    format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()).into()
}

pub(super) fn mark_launched(place: &Path) -> io::Result<()> {
    write(&place.join(LAUNCHED), &())
}

pub(super) fn unmark_launched(place: &Path) {
    // Then it passes for launched and dead, which is found out as well.
    let _ = fs::remove_file(place.join(LAUNCHED));
}

pub(super) fn mark_closed(place: &Path) -> io::Result<()> {
    write(&place.join(CLOSED), &())
}

pub(super) fn write_exit(place: &Path, exit: Exit) -> io::Result<()> {
    write(&place.join(EXIT), &exit)
}

/// Makes a folder that is private to the user: what agents are told and say passes through it.
pub(super) fn make_private(path: &Path) -> Result<(), RuntimeError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|err| failed("make the folder", path, &err))
}

/// Reads which process is meant from its name.
pub(super) fn key_of(process: &ProcessRef) -> Option<Key> {
    let (session, attempt) = process.0.split_once('/')?;
    Some((session.parse().ok()?, Attempt(attempt.parse().ok()?)))
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Whole or not at all. Several may write the same, so each has a name of its own until it is whole.
pub(super) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    fs::write(&partial, serde_json::to_vec(value)?)?;
    fs::rename(&partial, path)
}

pub(super) fn failed(what: &str, path: &Path, err: &io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("could not {what} `{}`: {err}", path.display()))
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
