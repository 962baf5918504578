//! Reads the log. Plain functions on a connection; [`crate::readers`] runs them.

use ao_core::Timestamp;
use ao_ports::{Record, Seq, StoreError};
use camino::Utf8Path;
use rusqlite::{Connection, Row};

use crate::error::{damaged, sqlite_error};

/// Initial capacity of a result. A caller's `limit` may be "all", and does not show how much there is.
const EXPECTED_PAGE: usize = 1024;

/// Reads at most `limit` records after `after`, oldest first.
pub(crate) fn read(
    conn: &Connection,
    path: &Utf8Path,
    after: Seq,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let sql = "SELECT seq, at, kind, version, scope, body FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    let records =
        select(conn, sql, (position(after), count(limit)), limit).map_err(|err| sqlite_error(path, err))?;

    if records.first().is_none_or(|first| first.seq != after + 1) {
        // Checked after the records were read, so that a prune in between is not taken for damage.
        let through = pruned_through(conn).map_err(|err| sqlite_error(path, err))?;
        if after < through {
            return Err(StoreError::Pruned { first_kept: through + 1 });
        }
    }
    let mut expected = after;
    for record in &records {
        expected += 1;
        if record.seq != expected {
            return Err(damaged(path, format!("event {expected} is missing")));
        }
    }
    Ok(records)
}

/// Reads at most `limit` records of one scope before `before`, newest first.
pub(crate) fn history(
    conn: &Connection,
    scope: &str,
    before: Option<Seq>,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, version, scope, body FROM events
               WHERE scope = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
    select(conn, sql, (scope, before.map_or(i64::MAX, position), count(limit)), limit)
}

/// Returns the position of the last record, even if retention has removed it; 0 for a log that never had one.
pub(crate) fn last_seq(conn: &Connection) -> rusqlite::Result<Seq> {
    let last: Option<i64> =
        conn.prepare_cached("SELECT max(seq) FROM events")?.query_row([], |row| row.get(0))?;
    match last {
        Some(last) => Ok(last as Seq),
        None => pruned_through(conn),
    }
}

/// Returns the position of the last record that retention has removed, 0 if none.
pub(crate) fn pruned_through(conn: &Connection) -> rusqlite::Result<Seq> {
    conn.prepare_cached("SELECT through FROM pruned")?
        .query_row([], |row| row.get::<_, i64>(0))
        .map(|seq| seq as Seq)
}

pub(crate) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        seq: row.get::<_, i64>(0)? as Seq,
        at: Timestamp(row.get(1)?),
        kind: row.get(2)?,
        version: row.get(3)?,
        scope: row.get(4)?,
        body: row.get(5)?,
    })
}

/// Converts a position for SQLite. Positions beyond its range are behind every log's end anyway.
pub(crate) fn position(seq: Seq) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn select(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut records = Vec::with_capacity(limit.min(EXPECTED_PAGE));
    while let Some(row) = rows.next()? {
        records.push(record(row)?);
    }
    Ok(records)
}
