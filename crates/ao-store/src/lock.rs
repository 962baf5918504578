//! Ensures one daemon per data directory, by an advisory lock on a file in it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::thread;
use std::time::{Duration, Instant};

use ao_ports::StoreError;
use camino::{Utf8Path, Utf8PathBuf};

use crate::error::io_error;

/// Time for which a held lock is retried. A process that only asks for the holder locks it for a few microseconds, and
/// a child that a killed holder was starting keeps it until it runs its own program.
const BRIEFLY: Duration = Duration::from_millis(250);

/// The lock of one data directory. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct DirLock {
    data_dir: Utf8PathBuf,
    /// The lock is held while the file is open. The file itself is never removed: a third process could lock a new file
    /// of the same name while a second one still waits for the old one.
    file: File,
}

/// The process that holds a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// Absent if the holder has not written its pid yet, or could not.
    pub pid: Option<u32>,
}

impl DirLock {
    /// Takes the lock, creating the directory if needed.
    pub fn take(data_dir: &Utf8Path) -> Result<DirLock, StoreError> {
        let until = Instant::now() + BRIEFLY;
        loop {
            match DirLock::try_take(data_dir) {
                Err(StoreError::Locked { .. }) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(5));
                }
                taken => return taken,
            }
        }
    }

    /// Returns the holder of the lock of a data directory, without creating anything.
    pub fn holder(data_dir: &Utf8Path) -> Option<LockHolder> {
        let mut file = File::open(lock_path(data_dir)).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(LockHolder { pid: pid_in(&mut file) }),
            _ => None,
        }
    }

    /// Returns false if the directory, or the lock file in it, was removed or replaced since.
    pub fn is_in_place(&self) -> bool {
        match (self.file.metadata(), std::fs::metadata(lock_path(&self.data_dir))) {
            (Ok(held), Ok(found)) => (held.dev(), held.ino()) == (found.dev(), found.ino()),
            // Only a file that is certainly gone counts as removed.
            (_, Err(err)) => err.kind() != io::ErrorKind::NotFound,
            _ => true,
        }
    }

    pub fn data_dir(&self) -> &Utf8Path {
        &self.data_dir
    }

    fn try_take(data_dir: &Utf8Path) -> Result<DirLock, StoreError> {
        // Private: event bodies contain prompts, issue texts and paths of the user.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data_dir)
            .map_err(|err| io_error(data_dir, "create the data directory", &err))?;

        let path = lock_path(data_dir);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            // Not truncated: until the lock is ours, the content belongs to its holder.
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|err| io_error(&path, "open the lock file", &err))?;

        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { path: data_dir.to_string(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(err)) => return Err(io_error(&path, "lock the lock file", &err)),
        }
        // The pid only serves the error message of the next process, so a full disk must not stop us here.
        if let Err(err) = sign(&mut file) {
            tracing::warn!(%err, %path, "could not write our pid into the lock file");
        }
        Ok(DirLock { data_dir: data_dir.to_owned(), file })
    }
}

fn lock_path(data_dir: &Utf8Path) -> Utf8PathBuf {
    data_dir.join("ao.lock")
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> String {
    match pid_in(file) {
        Some(pid) => format!("pid {pid}"),
        None => "pid unknown".into(),
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    // Bounded, because the file may contain anything.
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
