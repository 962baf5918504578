//! Snapshots: the newest, and the one before it as a spare.
//!
//! SQLite does not notice a flipped bit inside a body, and a wrong snapshot would silently become wrong state. So each
//! has a checksum; if it does not match, the spare is used.

use ao_ports::{Seq, Snapshot};
use rusqlite::{Connection, OptionalExtension};

/// Returns the newest snapshot that is intact.
pub(crate) fn latest(conn: &Connection) -> rusqlite::Result<Option<Snapshot>> {
    for seq in positions(conn)? {
        match load(conn, seq) {
            Ok(snapshot) => return Ok(Some(snapshot)),
            Err(fault) => tracing::warn!(seq, fault, "snapshot passed over"),
        }
    }
    Ok(None)
}

/// Saves a snapshot and drops all but it and its spare. A snapshot older than the newest is ignored; one at the same
/// position replaces it, because a newer engine may have a newer format for the same state.
pub(crate) fn save(conn: &Connection, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let newest = positions(conn)?.first().copied().unwrap_or(0);
    if snapshot.seq < newest {
        return Ok(());
    }
    conn.prepare_cached(
        "INSERT OR REPLACE INTO snapshots (seq, format, checksum, body) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((
        snapshot.seq as i64,
        snapshot.format,
        checksum(snapshot.seq, snapshot.format, &snapshot.body),
        &snapshot.body,
    ))?;
    conn.prepare_cached(
        "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)",
    )?
    .execute([])?;
    Ok(())
}

/// Returns the position up to which events may be removed: that of the spare, if it and the newest are both intact.
///
/// With the newest alone, one flipped bit in it would leave neither a snapshot nor the events to rebuild it.
pub(crate) fn covered_twice(conn: &Connection) -> rusqlite::Result<Option<Seq>> {
    let intact: Vec<Seq> = positions(conn)?.into_iter().filter(|seq| load(conn, *seq).is_ok()).collect();
    Ok(intact.get(1).copied())
}

/// Returns the positions of all snapshots, newest first.
pub(crate) fn positions(conn: &Connection) -> rusqlite::Result<Vec<Seq>> {
    conn.prepare_cached("SELECT seq FROM snapshots ORDER BY seq DESC")?
        .query_map([], |row| row.get::<_, i64>(0).map(|seq| seq as Seq))?
        .collect()
}

/// Loads one snapshot, or returns what is wrong with it.
pub(crate) fn load(conn: &Connection, seq: Seq) -> Result<Snapshot, String> {
    let found = conn
        .prepare_cached("SELECT format, checksum, body FROM snapshots WHERE seq = ?1")
        .and_then(|mut select| {
            select
                .query_row([seq as i64], |row| {
                    let (format, expected): (u32, i64) = (row.get(0)?, row.get(1)?);
                    Ok((Snapshot { seq, format, body: row.get(2)? }, expected))
                })
                .optional()
        })
        .map_err(|err| err.to_string())?;
    match found {
        Some((snapshot, expected)) if checksum(seq, snapshot.format, &snapshot.body) == expected => {
            Ok(snapshot)
        }
        Some(_) => Err("its checksum does not match".into()),
        None => Err("it is gone".into()),
    }
}

/// FNV-1a over everything that matters. It guards against bad disks, not against attackers, so a few lines suffice.
fn checksum(seq: Seq, format: u32, body: &[u8]) -> i64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for bytes in [&seq.to_le_bytes()[..], &format.to_le_bytes()[..], body] {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash as i64
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn the_checksum_is_the_same_for_ever() {
        // It is stored, so a change here would make every old snapshot look damaged.
        assert_eq!(checksum(7, 1, b"state"), 7182012074195043044);
        assert_ne!(checksum(7, 1, b"state"), checksum(8, 1, b"state"));
        assert_ne!(checksum(7, 1, b"state"), checksum(7, 2, b"state"));
    }
}
