//! Maps failures of SQLite and of the file system to store errors.

use std::io;

use ao_ports::StoreError;
use camino::Utf8Path;
use rusqlite::{ErrorCode, ffi};

/// Converts an SQLite failure on the log at `path`.
pub(crate) fn sqlite_error(path: &Utf8Path, err: rusqlite::Error) -> StoreError {
    let detail = err.to_string();
    let Some((code, extended)) = err.sqlite_error().map(|err| (err.code, err.extended_code)) else {
        // SQLite reported no failure, but a value does not match our schema.
        return damaged(path, detail);
    };
    match (code, extended) {
        (ErrorCode::DiskFull, _) => StoreError::Full { path: path.to_string() },
        // The shared-memory file cannot grow; on a full disk this comes before any write.
        (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { path: path.to_string() },
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => damaged(path, detail),
        (_, ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS) => damaged(path, detail),
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
            failed(path, format!("{detail}: another program is writing to the file; close it and try again"))
        }
        (ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => failed(
            path,
            format!("{detail}: check that you may write to the file and to the directory it is in"),
        ),
        _ => failed(path, detail),
    }
}

/// Converts a file system failure; `tried` says what was being done.
pub(crate) fn io_error(path: &Utf8Path, tried: &str, err: &io::Error) -> StoreError {
    match err.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { path: path.to_string() }
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => failed(
            path,
            format!("could not {tried}: {err}. Make it writable for you, or choose another data directory"),
        ),
        _ => failed(path, format!("could not {tried}: {err}")),
    }
}

pub(crate) fn damaged(path: &Utf8Path, detail: impl Into<String>) -> StoreError {
    StoreError::Damaged { path: path.to_string(), detail: detail.into() }
}

pub(crate) fn failed(path: &Utf8Path, detail: impl Into<String>) -> StoreError {
    StoreError::Failed { path: path.to_string(), detail: detail.into() }
}
