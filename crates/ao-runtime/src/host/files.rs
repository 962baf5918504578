//! Small files by which daemons, shims and helpers share state.

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

/// Reads a file; `None` if there is none. An empty file counts as none: no program writes one, but a power cut may
/// leave one.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Ok(None),
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Writes a file atomically, for readers while the host is up.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    replace(path, &serde_json::to_vec(value)?)
}

/// Writes a file atomically, even across a power cut: the content is on disk before the file gets its name.
///
/// The directory is not synced. After a power cut the old content may be back, but then nothing runs any more either,
/// so the work is simply repeated; a file that cannot be read, however, would be in the way forever.
pub(crate) fn write_through<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let partial = partial(path);
    let mut file = File::create(&partial)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_data()?;
    fs::rename(&partial, path)
}

/// Replaces a file, so that readers see either the old or the new content. Several processes may write the same file,
/// so each uses its own temporary name.
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

/// Creates a folder that is private to the user: the input and output of agents pass through it.
pub(crate) fn make_private(path: &Path) -> Result<(), RuntimeError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|err| failed("make the folder", path, &err))
}

/// Lists the folders in a folder; none if that does not exist.
pub(super) fn folders(path: &Path) -> Result<Vec<PathBuf>, RuntimeError> {
    match fs::read_dir(path) {
        // Uses the types from the listing itself: a `stat` of each would cost as much again.
        Ok(entries) => Ok(entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect()),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(err) => Err(failed("list", path, &err)),
    }
}

/// Returns a short path to a socket in a folder whose own path may be long: a socket address has only 108 bytes. The
/// handle must be held while the path is used.
pub(crate) fn socket(dir: &Path, name: &str) -> io::Result<(OwnedFd, PathBuf)> {
    let dir = openat(CWD, dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{name}", dir.as_raw_fd());
    Ok((dir, path.into()))
}

pub(crate) fn failed(what: &str, path: &Path, err: &io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("could not {what} `{}`: {err}", path.display()))
}

/// The error for an unreadable `/proc`.
pub(crate) fn no_procfs(err: &io::Error) -> RuntimeError {
    failed("look at", "/proc".as_ref(), err)
}
