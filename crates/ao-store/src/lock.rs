//! One daemon per data directory, by an advisory lock on a file in it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use ao_ports::StoreError;
use camino::Utf8Path;

use crate::error::io_error;

/// Holds the data directory. The system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct DirLock {
    /// Open means held. The file itself stays behind: removing it would let a third process lock a new file of the
    /// same name while a second one still waits with the old one.
    _file: File,
}

impl DirLock {
    /// Takes the lock, making the directory first if need be.
    pub(crate) fn take(data_dir: &Utf8Path) -> Result<DirLock, StoreError> {
        // Private: bodies hold prompts, issue texts and paths of the user.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data_dir)
            .map_err(|err| io_error(data_dir, "create the data directory", &err))?;

        let path = data_dir.join("ao.lock");
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
        // The pid only serves the message of the next one who tries, so a full disk must not stop us here.
        if let Err(err) = sign(&mut file) {
            tracing::warn!(%err, %path, "could not write our pid into the lock file");
        }
        Ok(DirLock { _file: file })
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> String {
    // Bounded, because anybody may have put anything there.
    let mut text = String::new();
    match file.take(20).read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(pid) => format!("pid {pid}"),
        None => "pid unknown".into(),
    }
}
