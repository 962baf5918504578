//! Creates a log from an export.

use std::io::{self, BufRead};

use ao_ports::{Seq, StoreError};
use camino::Utf8Path;
use rusqlite::Connection;

use crate::error::{failed, io_error, sqlite_error};
use crate::export::{DocumentLine, EventLine};
use crate::lock::DirLock;
use crate::schema;
use crate::store::log_path;

/// The reason why an import failed. In every case the data directory has no log afterwards, or the one it had.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("failed to read line {line} of the export")]
    Read {
        line: u64,
        #[source]
        err: io::Error,
    },
    #[error("line {line} of the export is not an event and not a document")]
    NotAnEvent {
        line: u64,
        #[source]
        err: serde_json::Error,
    },
    #[error(
        "line {line} of the export has event {found}, where {expected} was expected; export the range again"
    )]
    Gap { line: u64, expected: Seq, found: Seq },
}

/// Creates the log of a data directory that has none, and returns the number of events.
///
/// The log gets the same events at the same positions and the same documents; if anything is wrong with the export, it
/// is not created at all. A log whose beginning was pruned stays pruned. Blocks.
pub fn import(data_dir: &Utf8Path, export: &mut dyn BufRead) -> Result<u64, ImportError> {
    let path = log_path(data_dir);
    let _lock = DirLock::take(data_dir)?;
    if path.try_exists().map_err(|err| io_error(&path, "look for a log", &err))? {
        return Err(failed(&path, "it already exists; import into an empty data directory").into());
    }
    schema::create(&path, |conn| fill(conn, &path, export))
}

fn fill(conn: &Connection, path: &Utf8Path, export: &mut dyn BufRead) -> Result<u64, ImportError> {
    let sql = |err| sqlite_error(path, err);
    let mut insert = conn
        .prepare("INSERT INTO events (seq, at, kind, version, scope, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        .map_err(sql)?;
    let mut keep = conn.prepare("INSERT INTO records (shelf, key, body) VALUES (?1, ?2, ?3)").map_err(sql)?;
    let mut text = String::new();
    let mut events = 0;
    let mut last = None;
    let mut line = 0;
    loop {
        line += 1;
        text.clear();
        if export.read_line(&mut text).map_err(|err| ImportError::Read { line, err })? == 0 {
            return Ok(events);
        }
        let event: EventLine<'_> = match serde_json::from_str(&text) {
            Ok(event) => event,
            Err(err) => {
                // Report the event's parse error: exports existed before documents did.
                let document: DocumentLine<'_> =
                    serde_json::from_str(&text).map_err(|_| ImportError::NotAnEvent { line, err })?;
                keep.execute((document.shelf, document.key, document.body.get())).map_err(sql)?;
                continue;
            }
        };
        let expected = match last {
            Some(last) => last + 1,
            None => {
                let first = event.seq.clamp(1, i64::MAX as Seq);
                conn.execute("UPDATE pruned SET through = ?1", [first as i64 - 1]).map_err(sql)?;
                first
            }
        };
        if event.seq != expected {
            return Err(ImportError::Gap { line, expected, found: event.seq });
        }
        insert
            .execute((event.seq as i64, event.at, event.kind, event.version, event.scope, event.body.get()))
            .map_err(sql)?;
        last = Some(event.seq);
        events += 1;
    }
}
