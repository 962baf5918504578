//! The SQLite file: creates, recognises, opens and migrates it.
//!
//! Nothing is written to a file before it is known to be ours and not newer than this program.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, SystemTime};

use ao_ports::StoreError;
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use crate::check::refuse_damaged;
use crate::error::{damaged, failed, io_error, sqlite_error};

/// Marks the file as ours in its header; `aolg` in ASCII.
const APPLICATION_ID: u32 = 0x616f_6c67;

/// Version of the file layout as a whole. It changes only if `migrations` itself ever has to change its meaning.
const LAYOUT: i64 = 1;

/// The steps that turn an empty file into a log, in this order, each applied once.
///
/// Keyed by name and not by number, so that two branches that each add one do not collide. A released step is never
/// changed, renamed or removed.
const MIGRATIONS: &[(&str, &str)] = &[
    (
        "create-events",
        // The position is the rowid, so a record is found and appended without any further index.
        "CREATE TABLE events (
             seq INTEGER PRIMARY KEY,
             at INTEGER NOT NULL,
             kind TEXT NOT NULL,
             version INTEGER NOT NULL,
             scope TEXT NOT NULL,
             body TEXT NOT NULL
         ) STRICT",
    ),
    (
        "create-snapshots",
        "CREATE TABLE snapshots (
             seq INTEGER PRIMARY KEY,
             format INTEGER NOT NULL,
             checksum INTEGER NOT NULL,
             body BLOB NOT NULL
         ) STRICT",
    ),
    (
        "create-pruned",
        // One row. It distinguishes a pruned log from one that lost its beginning, and keeps positions from being
        // reused when everything was pruned.
        "CREATE TABLE pruned (through INTEGER NOT NULL) STRICT;
         INSERT INTO pruned (through) VALUES (0)",
    ),
    (
        "index-events-by-scope",
        // Costs one more dirty page per commit, which one fsync hides; without it the history of one session would
        // read the log of all of them.
        "CREATE INDEX events_by_scope ON events (scope)",
    ),
    (
        "create-records",
        // Documents of adapters that are a system of record. Without a rowid, the key is the only index, and a range of
        // keys is contiguous. Text is compared by its bytes.
        "CREATE TABLE records (
             shelf TEXT NOT NULL,
             key TEXT NOT NULL,
             body TEXT NOT NULL,
             PRIMARY KEY (shelf, key)
         ) STRICT, WITHOUT ROWID",
    ),
];

/// Time that a connection waits for a foreign program, such as an `sqlite3` shell, to release the file.
const BUSY: Duration = Duration::from_secs(10);

/// Creates a new log at `path`, lets `fill` write to it, and returns the result of `fill`.
///
/// The log is built under another name and moved when it is complete. So a file at `path` is always complete, an empty
/// one is never mistaken for a log that was not filled yet, and a failure leaves nothing behind. The caller holds the
/// directory's lock.
pub(crate) fn create<T, E: From<StoreError>>(
    path: &Utf8Path,
    fill: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let orphan = sidecar(path, "-wal");
    if fs::metadata(&orphan).is_ok_and(|wal| wal.len() > 0) {
        return Err(damaged(
            path,
            format!("the file is missing, but `{orphan}` with its last events is there"),
        )
        .into());
    }
    let new = sidecar(path, ".new");
    remove_unfinished(&new).map_err(|err| io_error(&new, "remove an unfinished log", &err))?;

    let made = build(&new, fill);
    if made.is_ok() {
        fs::rename(&new, path).map_err(|err| io_error(path, "move the new log into place", &err))?;
        sync_parent(path).map_err(|err| io_error(path, "sync the data directory", &err))?;
    } else if let Err(err) = remove_unfinished(&new) {
        tracing::warn!(%err, path = %new, "could not remove an unfinished log");
    }
    made
}

fn build<T, E: From<StoreError>>(
    new: &Utf8Path,
    fill: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let sql = |err| sqlite_error(new, err);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(new)
        .map_err(|err| io_error(new, "create the log", &err))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(new, flags).map_err(sql)?;
    // Lets pruning release space to the disk. Can only be set while the file is empty.
    conn.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = FULL; BEGIN").map_err(sql)?;
    conn.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    conn.pragma_update(None, "user_version", LAYOUT).map_err(sql)?;
    conn.execute_batch("CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT")
        .map_err(sql)?;
    apply_missing(&conn, &HashSet::new()).map_err(sql)?;
    let filled = fill(&conn)?;
    conn.execute_batch("COMMIT").map_err(sql)?;
    conn.close().map_err(|(_, err)| sql(err))?;
    Ok(filled)
}

/// Opens an existing log for the only writer, and migrates it.
pub(crate) fn open_writer(path: &Utf8Path) -> Result<Connection, StoreError> {
    let sql = |err| sqlite_error(path, err);
    refuse_truncated(path, &recognise(path)?)?;
    refuse_strange_wal(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    conn.busy_timeout(BUSY).map_err(sql)?;
    // Otherwise, closing a log that we refuse would move its last events from the WAL into the file.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(sql)?;
    let applied = applied_if_known(&conn, path)?;
    refuse_damaged(&conn, path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(sql)?;

    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sql)?;
    if mode != "wal" {
        return Err(failed(path, "this file system has no shared memory for SQLite's WAL; use a local disk"));
    }
    // FULL syncs the WAL on every commit, so an acknowledged event is on disk. `fullfsync` makes that true on macOS
    // too. The size limit lets the WAL shrink again after one large transaction.
    conn.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA cell_size_check = ON;
         PRAGMA trusted_schema = OFF",
    )
    .map_err(sql)?;
    if applied.len() < MIGRATIONS.len() {
        let change = conn.transaction().map_err(sql)?;
        apply_missing(&change, &applied).map_err(sql)?;
        change.commit().map_err(sql)?;
    }
    Ok(conn)
}

/// Opens an existing log for reading, even while other processes use it.
pub(crate) fn open_reader(path: &Utf8Path) -> Result<Connection, StoreError> {
    let sql = |err| sqlite_error(path, err);
    recognise(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    conn.busy_timeout(BUSY).map_err(sql)?;
    conn.execute_batch("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF").map_err(sql)?;
    let applied = applied_if_known(&conn, path)?;
    if applied.len() < MIGRATIONS.len() {
        return Err(failed(
            path,
            "it was written by an older ao; start the daemon once to bring it up to date",
        ));
    }
    Ok(conn)
}

/// Verifies by its header that the file is a log of ours, without letting SQLite touch it. Returns the header.
fn recognise(path: &Utf8Path) -> Result<Vec<u8>, StoreError> {
    let mut header = Vec::with_capacity(100);
    File::open(path)
        .and_then(|file| file.take(100).read_to_end(&mut header))
        .map_err(|err| io_error(path, "read the log", &err))?;
    if header.is_empty() {
        return Err(damaged(path, "the file is empty"));
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(damaged(path, "it is not an SQLite database"));
    }
    if header.len() < 100 {
        return Err(damaged(path, format!("it ends after {} bytes", header.len())));
    }
    let id = header_field(&header, 68);
    if id != APPLICATION_ID {
        return Err(StoreError::Foreign {
            path: path.to_string(),
            detail: format!("it is the database of another program, with application id {id:#010x}"),
        });
    }
    Ok(header)
}

/// Detects a truncated last page. SQLite would notice only once it needs that page.
///
/// Skipped while there is a WAL: then the file is the result of the last checkpoint, which may be unfinished.
fn refuse_truncated(path: &Utf8Path, header: &[u8]) -> Result<(), StoreError> {
    if fs::metadata(sidecar(path, "-wal")).is_ok_and(|wal| wal.len() > 0) {
        return Ok(());
    }
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65536,
        size => u64::from(size),
    };
    let expected = u64::from(header_field(header, 28)) * page_size;
    let found = fs::metadata(path).map_err(|err| io_error(path, "look at the log", &err))?.len();
    match expected.saturating_sub(found) {
        0 => Ok(()),
        missing => Err(damaged(path, format!("{missing} bytes are missing at its end"))),
    }
}

/// Detects a WAL that SQLite did not write. SQLite would silently overwrite it, and the last events would be lost.
fn refuse_strange_wal(path: &Utf8Path) -> Result<(), StoreError> {
    let wal = sidecar(path, "-wal");
    let mut header = Vec::with_capacity(32);
    match File::open(&wal).and_then(|file| file.take(32).read_to_end(&mut header)) {
        Ok(_) => {}
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(err) => return Err(io_error(&wal, "read the WAL of the log", &err)),
    }
    // A WAL that a power cut left without a header contains no events: the header is synced before them.
    let is_blank = header.len() < 32 || header.iter().all(|byte| *byte == 0);
    // In either byte order; see <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.
    if is_blank || matches!(header_field(&header, 0), 0x377f_0682 | 0x377f_0683) {
        return Ok(());
    }
    Err(damaged(path, format!("`{wal}`, which has its last events, is not what SQLite writes")))
}

/// Reads a number from the header, as laid out in <https://www.sqlite.org/fileformat.html#the_database_header>.
fn header_field(header: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(header[at..at + 4].try_into().expect("a slice of four"))
}

/// Returns the names of the migrations applied to this file. Fails if one is unknown to this version.
fn applied_if_known(conn: &Connection, path: &Utf8Path) -> Result<HashSet<String>, StoreError> {
    let newer = |detail| StoreError::Newer { path: path.to_string(), detail };
    let layout: i64 =
        conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|err| sqlite_error(path, err))?;
    if layout > LAYOUT {
        return Err(newer(format!("layout {layout}; this version knows {LAYOUT}")));
    }
    let applied = conn
        .prepare("SELECT name FROM migrations")
        .and_then(|mut names| names.query_map([], |row| row.get(0))?.collect::<Result<HashSet<String>, _>>())
        .map_err(|err| match err.sqlite_error() {
            // No such table, although the header marks the file as ours.
            Some(plain) if plain.extended_code == ffi::SQLITE_ERROR => damaged(path, err.to_string()),
            _ => sqlite_error(path, err),
        })?;
    let known = |name: &&String| MIGRATIONS.iter().any(|(known, _)| known == name);
    match applied.iter().find(|name| !known(name)) {
        Some(unknown) => Err(newer(format!("change `{unknown}`"))),
        None => Ok(applied),
    }
}

fn apply_missing(conn: &Connection, applied: &HashSet<String>) -> rusqlite::Result<()> {
    // Informational, for people who inspect the file; nothing reads it.
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64);
    for (name, sql) in MIGRATIONS.iter().filter(|(name, _)| !applied.contains(*name)) {
        conn.execute_batch(sql)?;
        conn.execute("INSERT INTO migrations (name, applied_at) VALUES (?1, ?2)", (name, now))?;
    }
    Ok(())
}

/// Removes what a crash in [`create`] left. It was never opened as a log, so no event is lost.
fn remove_unfinished(new: &Utf8Path) -> io::Result<()> {
    for path in [new, &sidecar(new, "-journal")] {
        match fs::remove_file(path) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn sidecar(path: &Utf8Path, suffix: &str) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}{suffix}"))
}

/// Makes a new directory entry survive a power cut.
pub(crate) fn sync_parent(path: &Utf8Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    File::open(parent)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_lacks_a_change_gets_it_whatever_its_place_in_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("ao.db");
        // The state that a branch leaves which has the later changes but not this one yet.
        create(&path, |conn| {
            let older = "DROP TABLE snapshots; DELETE FROM migrations WHERE name = 'create-snapshots'";
            conn.execute_batch(older).map_err(|err| sqlite_error(&path, err))
        })
        .unwrap();

        let by_a_tool = open_reader(&path).unwrap_err();
        assert!(by_a_tool.to_string().contains("start the daemon once"), "{by_a_tool}");
        let conn = open_writer(&path).unwrap();
        conn.execute_batch("SELECT seq, format, checksum, body FROM snapshots").unwrap();
        open_reader(&path).unwrap();
    }

    #[test]
    fn names_of_changes_are_used_once() {
        let names: HashSet<_> = MIGRATIONS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), MIGRATIONS.len());
    }
}
