//! A copy of the log as one file, made while the daemon runs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use ao_ports::StoreError;
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::check::{CheckReport, check_contents, check_file};
use crate::error::{damaged, failed, io_error, sqlite_error};
use crate::{Store, schema};

/// Suffix of the file beside the log that holds the path of its last backup.
const LAST: &str = "-backup";

impl Store {
    /// Copies the log as it is now to a new file, checks the copy, and returns the report of that check.
    ///
    /// A log in which SQLite itself finds a fault is refused. One odd event is not, because it must not be a reason to
    /// have no backup of the rest. Refuses to overwrite anything. Blocks for as long as it takes to copy and to check;
    /// appends go on meanwhile.
    ///
    /// To restore, put it in place as `ao.db`, but only once the old `ao.db-wal` is out of the way: SQLite would take
    /// that for the copy's own and replay it.
    pub fn backup(&self, to: &Utf8Path) -> Result<CheckReport, StoreError> {
        // The name is taken first, so that of two backups to it one fails, and is filled last, so that a file under
        // that name is either empty or complete.
        with_new_file(to, || {
            let partial = schema::sidecar(to, ".partial");
            with_new_file(&partial, || {
                self.readers().run_here(|conn| copy(conn, &partial))?;
                let report = verify(&partial, self.path())?;
                move_into_place(&partial, to).map_err(|err| io_error(to, "finish the backup", &err))?;
                if report.is_ok() {
                    self.remember(to);
                }
                Ok(report)
            })
        })
    }
}

impl Store {
    /// Records where the backup is, for the day on which it is needed. The backup is good even if this fails.
    fn remember(&self, backup: &Utf8Path) {
        let place = schema::sidecar(self.path(), LAST);
        let written = backup.canonicalize_utf8().and_then(|backup| fs::write(&place, backup.as_str()));
        if let Err(err) = written {
            tracing::warn!(%err, %place, "where the backup is could not be written down");
        }
    }
}

/// Returns the last backup of this log that passed its check, if it is still there.
pub fn last_backup(log: &Utf8Path) -> Option<Utf8PathBuf> {
    let place = fs::read_to_string(schema::sidecar(log, LAST)).ok()?;
    Some(Utf8PathBuf::from(place)).filter(|backup| backup.is_file())
}

/// Creates a private file, and removes it again if `fill` fails. A file that was there before is not touched.
fn with_new_file<T>(path: &Utf8Path, fill: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|err| {
        match err.kind() {
            io::ErrorKind::AlreadyExists => {
                failed(path, "it already exists; choose another name for the backup")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                failed(path, format!("could not create the backup: {err}; choose another place for it"))
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
    // Without a WAL it is a single file, and can be read from a read-only place.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(sql)?;
    copy.close().map_err(|(_, err)| sql(err))
}

/// Makes sure that the copy opens as a log and that SQLite finds no fault in it, then checks its contents.
fn verify(copy: &Utf8Path, log: &Utf8Path) -> Result<CheckReport, StoreError> {
    let conn = schema::open_reader(copy)?;
    let mut report = CheckReport::default();
    check_file(&conn, &mut report).map_err(|err| sqlite_error(log, err))?;
    // The copy is as good as its source, and the caller removes it.
    if let Some(problem) = report.problems.first() {
        return Err(damaged(log, format!("no backup was made of it: {problem}")));
    }
    check_contents(&conn, &mut report);
    Ok(report)
}

fn move_into_place(partial: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    File::open(partial)?.sync_all()?;
    fs::rename(partial, to)?;
    schema::sync_parent(to)
}
