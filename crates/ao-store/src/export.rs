//! Exports the log as text: one JSON object per line for each event, for people, scripts, and other stores. A whole
//! export ends with the documents, one per line.

use std::borrow::Cow;
use std::io::{self, BufWriter, Seek, Write};
use std::ops::{Bound, RangeBounds};

use ao_ports::{Record, Seq, StoreError};
use camino::Utf8Path;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tempfile::SpooledTempFile;

use crate::error::sqlite_error;
use crate::{Store, read};

/// An exported event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventLine<'a> {
    pub(crate) seq: Seq,
    pub(crate) at: i64,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
    pub(crate) version: u16,
    #[serde(borrow)]
    pub(crate) scope: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) body: &'a RawValue,
}

/// An exported document. Its only field in common with an event is `body`, so a reader can distinguish them by any
/// other.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentLine<'a> {
    #[serde(borrow)]
    pub(crate) shelf: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) key: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) body: &'a RawValue,
}

/// The result of an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportReport {
    pub events: u64,
    /// Documents; none if only a range of events was exported.
    pub records: u64,
    /// Events of the range that are missing, unreadable or not JSON. They are left out.
    pub unreadable: u64,
    /// The first unreadable event, with the reason.
    pub first_unreadable: Option<(Seq, String)>,
    /// Documents that are unreadable or not JSON. They are left out too.
    pub unreadable_records: u64,
}

/// The reason why an export stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("failed to write the export")]
    Write(#[source] io::Error),
}

/// Most events in memory at a time. Between batches no transaction is open: a slow reader at the other end of a pipe
/// must not keep the WAL from being emptied.
const BATCH: usize = 256;

/// Most bytes of documents in memory at a time. The rest goes to a temporary file.
const IN_MEMORY: usize = 8 << 20;

impl Store {
    /// Writes the events of a range as newline-delimited JSON, oldest first. An unbounded range also includes the
    /// documents, all as of one moment.
    ///
    /// The export ends where the log ended at the start of the call. Damaged entries are left out and counted, because
    /// an export is also how to rescue a damaged log. Fails with [`StoreError::Pruned`] if the range names a start that
    /// is gone; an open start begins with the first event there is. Blocks.
    pub fn export(
        &self,
        out: &mut dyn Write,
        range: impl RangeBounds<Seq>,
    ) -> Result<ExportReport, ExportError> {
        let (mut after, until) = self
            .readers()
            .run_here(|conn| bounds(conn, &range).map_err(|err| sqlite_error(self.path(), err)))?;
        let mut exported = ExportReport::default();
        while after < until {
            let upto = until.min(after + BATCH as Seq);
            let batch =
                self.readers().run_here(|conn| batch(conn, self.path(), after, upto, &mut exported))?;
            for record in &batch {
                exported.write(out, record).map_err(ExportError::Write)?;
            }
            after = upto;
        }
        if matches!((range.start_bound(), range.end_bound()), (Bound::Unbounded, Bound::Unbounded)) {
            let mut aside = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
            let set_aside = self.readers().run_here(|conn| Ok(documents(conn, &mut aside, &mut exported)))?;
            let set_aside = set_aside.and_then(|()| Ok(aside.into_inner()?));
            let mut aside = set_aside.map_err(not_set_aside)?;
            aside.rewind().map_err(not_set_aside)?;
            io::copy(&mut aside, out).map_err(ExportError::Write)?;
        }
        out.flush().map_err(ExportError::Write)?;
        Ok(exported)
    }
}

impl ExportReport {
    fn write(&mut self, out: &mut dyn Write, record: &Record) -> io::Result<()> {
        let body = on_one_line(&record.body);
        let body = match serde_json::from_str::<&RawValue>(&body) {
            Ok(body) => body,
            Err(err) => {
                self.unreadable(record.seq, err.to_string());
                return Ok(());
            }
        };
        let line = EventLine {
            seq: record.seq,
            at: record.at.0,
            kind: Cow::Borrowed(&record.kind),
            version: record.version,
            scope: Cow::Borrowed(&record.scope),
            body,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        self.events += 1;
        Ok(())
    }

    fn write_document(&mut self, out: &mut dyn Write, shelf: &str, key: &str, body: &str) -> io::Result<()> {
        let body = on_one_line(body);
        let Ok(body) = serde_json::from_str::<&RawValue>(&body) else {
            self.unreadable_records += 1;
            return Ok(());
        };
        let line = DocumentLine { shelf: Cow::Borrowed(shelf), key: Cow::Borrowed(key), body };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        self.records += 1;
        Ok(())
    }

    fn unreadable(&mut self, seq: Seq, fault: String) {
        self.unreadable += 1;
        self.first_unreadable.get_or_insert((seq, fault));
    }
}

fn not_set_aside(err: io::Error) -> ExportError {
    let folder = std::env::temp_dir();
    let message = format!("documents could not be set aside in `{}`, set TMPDIR: {err}", folder.display());
    ExportError::Write(io::Error::new(err.kind(), message))
}

/// Puts JSON on one line: between its tokens a line break equals a space, and inside them it cannot occur.
fn on_one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ").into() } else { json.into() }
}

/// Returns the positions after which and up to which to export.
fn bounds(conn: &Connection, range: &impl RangeBounds<Seq>) -> rusqlite::Result<(Seq, Seq)> {
    let after = match range.start_bound() {
        Bound::Included(first) => first.saturating_sub(1),
        Bound::Excluded(after) => *after,
        Bound::Unbounded => read::pruned_through(conn)?,
    };
    let last = read::last_seq(conn)?;
    let until = match range.end_bound() {
        Bound::Included(until) => last.min(*until),
        Bound::Excluded(end) => last.min(end.saturating_sub(1)),
        Bound::Unbounded => last,
    };
    Ok((after, until))
}

/// Reads the events after `after` up to `upto`; if the file is damaged there, one by one, to reach the others.
fn batch(
    conn: &Connection,
    path: &Utf8Path,
    after: Seq,
    upto: Seq,
    exported: &mut ExportReport,
) -> Result<Vec<Record>, StoreError> {
    match read::read(conn, path, after, (upto - after) as usize) {
        Err(StoreError::Damaged { .. }) => {}
        other => return other,
    }
    let mut records = Vec::new();
    for seq in after + 1..=upto {
        let found = conn
            .prepare_cached("SELECT seq, at, kind, version, scope, body FROM events WHERE seq = ?1")
            .and_then(|mut select| select.query_row([read::position(seq)], read::record).optional());
        match found {
            Ok(Some(record)) => records.push(record),
            Ok(None) => exported.unreadable(seq, "it is missing".into()),
            Err(err) => exported.unreadable(seq, err.to_string()),
        }
    }
    Ok(records)
}

/// Copies all documents to `aside`, ready to be written. Not in batches: a document may count others, so they have to
/// be of one moment, and the transaction that this needs must not wait for a slow reader.
fn documents(conn: &Connection, aside: &mut dyn Write, exported: &mut ExportReport) -> io::Result<()> {
    let mut written = Ok(());
    let read =
        conn.prepare("SELECT shelf, key, body FROM records ORDER BY shelf, key").and_then(|mut select| {
            let mut rows = select.query([])?;
            while written.is_ok()
                && let Some(row) = rows.next()?
            {
                let text = |column| row.get::<_, String>(column);
                match (text(0), text(1), text(2)) {
                    (Ok(shelf), Ok(key), Ok(body)) => {
                        written = exported.write_document(aside, &shelf, &key, &body);
                    }
                    _ => exported.unreadable_records += 1,
                }
            }
            Ok(())
        });
    // A scan cannot continue past a damaged page, so the number of documents behind it is unknown.
    if read.is_err() {
        exported.unreadable_records += 1;
    }
    written
}
