//! Retention: removes events that are old and no longer needed to start.

use ao_core::Timestamp;
use ao_ports::Seq;
use rusqlite::Connection;

use crate::read;

/// The rule for removing events.
///
/// Besides being old, an event must be covered by the spare snapshot, so that the state can be rebuilt even if the
/// newest snapshot is damaged. Events are removed from the front only: the first one that is too young or not covered
/// ends the prune.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Events that happened earlier may be removed.
    pub before: Timestamp,
}

/// The result of a prune.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneReport {
    pub events: u64,
}

/// Events removed per transaction. This takes a few milliseconds, for which appends have to wait.
const BATCH: i64 = 1000;

/// Pages released per transaction, limited for the same reason.
const SHRINK_PAGES: i64 = 256;

/// Removes the next batch of events that may go, and returns their number. 0 means that none are left.
///
/// `covered` is a current or an earlier result of [`snapshot::covered_twice`]: newer snapshots only cover more. It is a
/// parameter because loading snapshots takes longer than removing a batch.
///
/// [`snapshot::covered_twice`]: crate::snapshot::covered_twice
pub(crate) fn remove_batch(conn: &Connection, before: Timestamp, covered: Seq) -> rusqlite::Result<u64> {
    let through = read::pruned_through(conn)?;
    if covered <= through {
        return Ok(0);
    }
    let first_kept: Option<i64> = conn
        .prepare_cached(
            "SELECT min(seq) FROM (SELECT seq, at FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2) WHERE at >= ?3",
        )?
        .query_row((through as i64, BATCH, before.0), |row| row.get(0))?;
    let cut = first_kept.map_or(through as i64 + BATCH, |kept| kept - 1).min(covered as i64);
    if cut <= through as i64 {
        return Ok(0);
    }
    let removed = conn.prepare_cached("DELETE FROM events WHERE seq <= ?1")?.execute([cut])?;
    conn.prepare_cached("UPDATE pruned SET through = ?1")?.execute([cut])?;
    Ok(removed as u64)
}

/// Releases free pages at the end of the file to the disk, and returns how many are left.
pub(crate) fn shrink_batch(conn: &Connection) -> rusqlite::Result<u64> {
    // The pragma takes a step for every page, which `execute_batch` does and `execute` would not.
    conn.execute_batch(&format!("PRAGMA incremental_vacuum({SHRINK_PAGES})"))?;
    conn.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0)).map(|pages| pages as u64)
}
