//! A copy of the log as one file, made while the daemon runs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use ao_ports::StoreError;
use camino::Utf8Path;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::check::{CheckReport, check_file};
use crate::error::{damaged, failed, io_error, sqlite_error};
use crate::{Store, schema};

impl Store {
    /// Copies the log as it is now to a new file, and checks the copy. To restore, put it in place as `ao.db`.
    ///
    /// Refuses to overwrite anything. Blocks for as long as it takes to copy and to check; appends go on meanwhile.
    pub fn backup(&self, to: &Utf8Path) -> Result<(), StoreError> {
        // The name is taken first, so that of two backups to it one fails, and is filled last, so that what lies
        // there under that name is either empty or whole.
        with_new_file(to, || {
            let partial = schema::sidecar(to, ".partial");
            with_new_file(&partial, || {
                self.readers().run_here(|conn| copy(conn, &partial))?;
                verify(&partial)?;
                move_into_place(&partial, to).map_err(|err| io_error(to, "finish the backup", &err))
            })
        })
    }
}

/// Makes a private file, and removes it again if `fill` fails. One that was there before is not touched.
fn with_new_file(path: &Utf8Path, fill: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|err| {
        match err.kind() {
            io::ErrorKind::AlreadyExists => {
                failed(path, "it already exists; choose another name for the backup")
            }
            _ => io_error(path, "create the backup", &err),
        }
    })?;
    fill().inspect_err(|_| {
        if let Err(err) = fs::remove_file(path) {
            tracing::warn!(%err, %path, "could not remove an unfinished backup");
        }
    })
}

fn copy(from: &Connection, to: &Utf8Path) -> Result<(), StoreError> {
    let sql = |err| sqlite_error(to, err);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags(to, flags).map_err(sql)?;
    // All pages in one step is one read transaction, which the writer does not have to wait for. In many small
    // steps, every append in between would start the copy over.
    match Backup::new(from, &mut copy).and_then(|backup| backup.step(-1)).map_err(sql)? {
        StepResult::Done => {}
        other => {
            return Err(failed(to, format!("the copy stopped early ({other:?}); try again")));
        }
    }
    // Without a WAL it is one file, and can be read from where nothing can be written.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(sql)?;
    copy.close().map_err(|(_, err)| sql(err))
}

/// Makes sure that the copy opens as a log and that SQLite finds no fault in it.
///
/// Not the whole check: one odd event in the log must not be a reason to have no backup of the rest.
fn verify(copy: &Utf8Path) -> Result<(), StoreError> {
    let conn = schema::open_reader(copy)?;
    let mut report = CheckReport::default();
    check_file(&conn, &mut report).map_err(|err| sqlite_error(copy, err))?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(damaged(copy, problem)),
    }
}

fn move_into_place(partial: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    File::open(partial)?.sync_all()?;
    fs::rename(partial, to)?;
    schema::sync_parent(to)
}
