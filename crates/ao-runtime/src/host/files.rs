//! Small files by which daemons, shims and helpers tell each other what is so.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ao_ports::RuntimeError;
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a file, `None` if there is none. An empty one is none: nobody writes it, but a power cut may leave it.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Ok(None),
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Whole or not at all, for whoever reads it while the host is up.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    replace(path, &serde_json::to_vec(value)?)
}

/// Whole or not at all, after a power cut too: what it is to hold is on the disk before it has its name.
///
/// The name itself is not waited for. After a power cut there may be what was there before, and nothing runs any more, so
/// that what was done is done again; but what could not be read would be in the way for ever.
pub(crate) fn write_through<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let partial = partial(path);
    let mut file = File::create(&partial)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_data()?;
    fs::rename(&partial, path)
}

/// Whoever reads it meanwhile has the old one or the new one, whole. Several may write the same, so each has a name of its
/// own until it is whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = partial(path);
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

fn partial(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{number}.partial", std::process::id()))
}

/// Makes a folder that is private to the user: what agents are told and say passes through it.
pub(crate) fn make_private(path: &Path) -> Result<(), RuntimeError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|err| failed("make the folder", path, &err))
}

/// The folders in a folder, none if that is not there.
pub(super) fn folders(path: &Path) -> Result<Vec<PathBuf>, RuntimeError> {
    match fs::read_dir(path) {
        // By what the listing itself tells: to look at each would cost as much again.
        Ok(entries) => Ok(entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect()),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(err) => Err(failed("list", path, &err)),
    }
}

/// A short path to a socket in a folder whose own path may be long: the address of a socket has only 108 bytes. The handle
/// is to be held while the path is used.
pub(crate) fn socket(dir: &Path, name: &str) -> io::Result<(OwnedFd, PathBuf)> {
    let dir = openat(CWD, dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{name}", dir.as_raw_fd());
    Ok((dir, path.into()))
}

pub(crate) fn failed(what: &str, path: &Path, err: &io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("could not {what} `{}`: {err}", path.display()))
}

/// What the kernel tells of processes could not be had.
pub(crate) fn no_procfs(err: &io::Error) -> RuntimeError {
    failed("look at", "/proc".as_ref(), err)
}
