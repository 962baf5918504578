//! Looking through the whole log, and saying what is wrong with it.

use ao_ports::{Seq, StoreError};
use camino::Utf8Path;
use rusqlite::Connection;
use serde::de::IgnoredAny;

use crate::error::sqlite_error;
use crate::{Store, read, snapshot};

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    pub events: u64,
    /// The first event that is kept, 0 if there is none.
    pub first: Seq,
    /// The last event, 0 if there is none.
    pub last: Seq,
    pub snapshots: usize,
    /// How many documents are kept beside the log.
    pub records: u64,
    /// What is wrong, in words; the first hundred things of it.
    pub problems: Vec<String>,
}

/// How many problems are told. A file that is broken in more places is not read better by telling more.
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
    /// Reports what is wrong: with the file as SQLite sees it, with the numbers of the events, with the JSON of their
    /// bodies and of the documents, and with the checksums of the snapshots. Changes nothing in the log, and does not stop
    /// the daemon.
    ///
    /// What it cannot find is a byte that was changed into another valid one: events have no checksum. Blocks for as
    /// long as reading the file takes. An error means that it could not even be looked at.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        self.readers().run_here(|conn| check(conn, self.path()))
    }
}

fn check(conn: &Connection, path: &Utf8Path) -> Result<CheckReport, StoreError> {
    // One view for all queries, or events appended in between would look like gaps.
    let _view = conn.unchecked_transaction().map_err(|err| sqlite_error(path, err))?;
    let mut report = CheckReport::default();
    if let Err(err) = check_file(conn, &mut report) {
        report.problem(err.to_string());
    }
    check_contents(conn, &mut report);
    Ok(report)
}

/// Looks at what the file holds.
pub(crate) fn check_contents(conn: &Connection, report: &mut CheckReport) {
    for part in [check_events, check_snapshots, check_records] {
        // A part that cannot be read is a finding like any other, and the next part may tell more.
        if let Err(err) = part(conn, report) {
            report.problem(err.to_string());
        }
    }
}

/// Looks at the file, as SQLite sees it.
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
