//! Checks the whole log and reports its faults.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use ao_ports::{Seq, StoreError};
use camino::Utf8Path;
use rusqlite::{Connection, ErrorCode};
use serde::de::IgnoredAny;

use crate::error::{damaged, io_error, sqlite_error};
use crate::schema::sidecar;
use crate::{Store, read, snapshot};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    pub events: u64,
    /// The first event that is kept, 0 if there is none.
    pub first: Seq,
    /// The last event, 0 if there is none.
    pub last: Seq,
    pub snapshots: usize,
    /// The number of documents kept beside the log.
    pub records: u64,
    /// Descriptions of the first hundred problems.
    pub problems: Vec<String>,
    /// The first problem that SQLite itself finds in the file. Nothing may be written to such a file.
    pub damage: Option<String>,
}

/// Time limit of the check at startup, so that a start takes no longer with more history. [`Store::check`] has none.
const QUICK: Duration = Duration::from_millis(25);
/// Suffix of the file that marks a log as damaged. The next start then checks all of it, however long that takes.
const SUSPECT: &str = "-suspect";

/// Most problems that are reported. More would not make a file that is broken in so many places any clearer.
const PROBLEMS: usize = 100;

impl CheckReport {
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }

    fn problem(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(problem);
        }
    }
}

impl Store {
    /// Reports problems of the file as SQLite sees it, of the event numbers, of the JSON in events and documents, and
    /// of the snapshots' checksums. Changes nothing in the log, and does not stop the daemon.
    ///
    /// It cannot find a byte that was changed into another valid one: events have no checksum. Blocks for as long as
    /// reading the file takes. An error means that the check could not run.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        self.readers().run_here(|conn| check(conn, self.path()))
    }

    /// Marks the file as damaged, so that the next process that opens it for writing checks all of it.
    pub fn suspect(&self) -> Result<(), StoreError> {
        let path = sidecar(self.path(), SUSPECT);
        std::fs::write(&path, b"").map_err(|err| io_error(&path, "leave word of a damaged log", &err))
    }
}

/// Refuses a file in which SQLite finds a fault: within a short time, or, if the file is marked as damaged, at all.
pub(crate) fn refuse_damaged(conn: &Connection, path: &Utf8Path) -> Result<(), StoreError> {
    let suspect = sidecar(path, SUSPECT);
    let is_suspect = suspect.exists();
    let found = match is_suspect {
        true => first_fault(conn, "PRAGMA integrity_check(1)"),
        false => within(QUICK, conn, |conn| first_fault(conn, "PRAGMA quick_check(1)")),
    };
    match found {
        Ok(None) if is_suspect => {
            // The file was repaired, or a backup was put in its place.
            std::fs::remove_file(&suspect).map_err(|err| io_error(&suspect, "remove", &err))
        }
        Ok(None) => Ok(()),
        Ok(Some(fault)) => Err(damaged(path, fault)),
        Err(err) if err.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(()),
        Err(err) => Err(sqlite_error(path, err)),
    }
}

fn first_fault(conn: &Connection, look: &str) -> rusqlite::Result<Option<String>> {
    let said: String = conn.query_row(look, [], |row| row.get(0))?;
    Ok((said != "ok").then_some(said))
}

/// Runs a query that is interrupted after `limit`.
fn within<T>(limit: Duration, conn: &Connection, look: impl FnOnce(&Connection) -> T) -> T {
    let handle = conn.get_interrupt_handle();
    std::thread::scope(|scope| {
        let (over, is_over) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            if is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
            }
        });
        let seen = look(conn);
        drop(over);
        seen
    })
}

fn check(conn: &Connection, path: &Utf8Path) -> Result<CheckReport, StoreError> {
    // One transaction for all queries, or events appended in between would look like gaps.
    let _view = conn.unchecked_transaction().map_err(|err| sqlite_error(path, err))?;
    let mut report = CheckReport::default();
    if let Err(err) = check_file(conn, &mut report) {
        report.problem(err.to_string());
    }
    report.damage = report.problems.first().cloned();
    check_contents(conn, &mut report);
    Ok(report)
}

/// Checks the contents of the file.
pub(crate) fn check_contents(conn: &Connection, report: &mut CheckReport) {
    for part in [check_events, check_snapshots, check_records] {
        // A part that cannot be read is a problem like any other, and the next part may show more.
        if let Err(err) = part(conn, report) {
            report.problem(err.to_string());
        }
    }
}

/// Checks the file as SQLite sees it.
pub(crate) fn check_file(conn: &Connection, report: &mut CheckReport) -> rusqlite::Result<()> {
    let mut select = conn.prepare(&format!("PRAGMA integrity_check({PROBLEMS})"))?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            report.problem(line);
        }
    }
    Ok(())
}

fn check_events(conn: &Connection, report: &mut CheckReport) -> rusqlite::Result<()> {
    let mut expected = read::pruned_through(conn)? + 1;
    let mut select = conn.prepare("SELECT seq, at, kind, version, scope, body FROM events ORDER BY seq")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let record = read::record(row)?;
        match record.seq {
            seq if seq < expected => report.problem(format!("event {seq} should have been removed")),
            seq if seq == expected => {}
            seq if seq == expected + 1 => report.problem(format!("event {expected} is missing")),
            seq => report.problem(format!("events {expected} to {} are missing", seq - 1)),
        }
        expected = record.seq + 1;
        if let Err(err) = serde_json::from_str::<IgnoredAny>(&record.body) {
            report.problem(format!("event {} is not JSON: {err}", record.seq));
        }
        if report.events == 0 {
            report.first = record.seq;
        }
        report.last = record.seq;
        report.events += 1;
    }
    Ok(())
}

fn check_snapshots(conn: &Connection, report: &mut CheckReport) -> rusqlite::Result<()> {
    let last = read::last_seq(conn)?;
    for seq in snapshot::positions(conn)? {
        report.snapshots += 1;
        if let Err(fault) = snapshot::load(conn, seq) {
            report.problem(format!("snapshot {seq} cannot be used: {fault}"));
        }
        if seq > last {
            report.problem(format!("snapshot {seq} lies behind the last event, {last}"));
        }
    }
    Ok(())
}

fn check_records(conn: &Connection, report: &mut CheckReport) -> rusqlite::Result<()> {
    let mut select = conn.prepare("SELECT shelf, key, body FROM records ORDER BY shelf, key")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (shelf, key, body): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Err(err) = serde_json::from_str::<IgnoredAny>(&body) {
            report.problem(format!("document `{key}` of `{shelf}` is not JSON: {err}"));
        }
        report.records += 1;
    }
    Ok(())
}
