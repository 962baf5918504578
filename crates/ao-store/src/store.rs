//! The public handle of the store.

use std::fmt;
use std::sync::Arc;

use ao_ports::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{failed, io_error, sqlite_error};
use crate::lock::DirLock;
use crate::prune::{PruneReport, Retention};
use crate::readers::ReaderPool;
use crate::writer::{self, WriteOp};
use crate::{read, schema, snapshot};

/// Settings of a store.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Size limit of the log. Beyond it appends fail with [`StoreError::Full`], as on a full disk; without it only the
    /// disk is the limit.
    pub max_bytes: Option<u64>,
}

/// The event log of one data directory, with the documents beside it. Cheap to clone; dropping the last clone closes
/// it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<SharedStore>,
}

struct SharedStore {
    path: Utf8PathBuf,
    readers: Arc<ReaderPool>,
    /// Absent if opened read-only.
    writer: Option<writer::WriterHandle>,
}

impl Store {
    /// Opens the log in `data_dir` as its only writer, creating both if needed.
    ///
    /// Fails with [`StoreError::Locked`] while another process holds it. A file that is damaged, foreign or newer is
    /// left as it is. Blocks for a few milliseconds.
    pub fn open(data_dir: &Utf8Path, options: Options) -> Result<Store, StoreError> {
        Store::open_locked(Arc::new(DirLock::take(data_dir)?), options)
    }

    /// Opens the log of a data directory whose lock the caller holds, and keeps the lock until it is closed.
    pub fn open_locked(lock: Arc<DirLock>, options: Options) -> Result<Store, StoreError> {
        let path = log_path(lock.data_dir());
        if !path.try_exists().map_err(|err| io_error(&path, "look for the log", &err))? {
            schema::create(&path, |_| Ok::<_, StoreError>(()))?;
        }
        let conn = schema::open_writer(&path)?;
        if let Some(bytes) = options.max_bytes {
            limit_size(&conn, bytes).map_err(|err| sqlite_error(&path, err))?;
        }
        let writer = writer::WriterHandle::start(&path, conn, lock)?;
        Ok(Store::new(path, Some(writer)))
    }

    /// Opens an existing log read-only, with or without a running daemon. It cannot append, and holds no lock.
    pub fn open_read_only(data_dir: &Utf8Path) -> Result<Store, StoreError> {
        let store = Store::new(log_path(data_dir), None);
        // Reports a bad file now rather than at the first read.
        store.shared.readers.run_here(|_| Ok(()))?;
        Ok(store)
    }

    fn new(path: Utf8PathBuf, writer: Option<writer::WriterHandle>) -> Store {
        let readers = Arc::new(ReaderPool::new(path.clone()));
        Store { shared: Arc::new(SharedStore { path, readers, writer }) }
    }

    /// Reads at most `limit` records of one scope before `before`, or before the end, newest first.
    ///
    /// To get the next page, pass the position of the last record of this one. Events that retention has removed are
    /// not included.
    pub async fn history(
        &self,
        scope: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let (scope, path) = (scope.to_owned(), self.path().to_owned());
        let readers = &self.shared.readers;
        readers
            .run(move |conn| {
                read::history(conn, &scope, before, limit).map_err(|err| sqlite_error(&path, err))
            })
            .await
    }

    /// Removes the events that may go, a bounded batch at a time, so that appends get their turn in between.
    pub async fn prune(&self, retention: Retention) -> Result<PruneReport, StoreError> {
        let writer = self.writer()?;
        let mut pruned = PruneReport::default();
        let path = self.path().to_owned();
        let covered = self
            .readers()
            .run(move |conn| snapshot::covered_twice(conn).map_err(|err| sqlite_error(&path, err)))
            .await?;
        let Some(covered) = covered else { return Ok(pruned) };
        loop {
            let removed = writer.request(WriteOp::Prune { before: retention.before, covered }).await?;
            if removed == 0 {
                break;
            }
            pruned.events += removed;
        }
        // Ends even if appends use up the free pages faster than we release them.
        let mut left = u64::MAX;
        while pruned.events > 0 && left > 0 {
            let now = writer.request(WriteOp::Shrink).await?;
            if now >= left {
                break;
            }
            left = now;
        }
        Ok(pruned)
    }

    /// Closes the log: writes what was accepted, leaves a single file without a WAL, and releases the lock.
    ///
    /// Clones of this handle get an error from then on. Dropping the last handle does the same, but cannot report a
    /// failure, and blocks its thread meanwhile.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.shared.readers.close();
        match &self.shared.writer {
            Some(writer) => writer.close().await,
            None => Ok(()),
        }
    }

    /// Returns the path of the log file.
    pub fn path(&self) -> &Utf8Path {
        &self.shared.path
    }

    pub(crate) fn readers(&self) -> &Arc<ReaderPool> {
        &self.shared.readers
    }

    pub(crate) fn writer(&self) -> Result<&writer::WriterHandle, StoreError> {
        let read_only = || failed(self.path(), "it was opened for reading only");
        self.shared.writer.as_ref().ok_or_else(read_only)
    }
}

#[async_trait]
impl EventStore for Store {
    async fn append(&self, records: Vec<NewRecord>, after: Option<Seq>) -> Result<Seq, StoreError> {
        self.writer()?.request(WriteOp::Append { records, after }).await
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        let path = self.path().to_owned();
        self.readers().run(move |conn| read::read(conn, &path, after, limit)).await
    }

    async fn last_seq(&self) -> Result<Seq, StoreError> {
        let path = self.path().to_owned();
        self.readers().run(move |conn| read::last_seq(conn).map_err(|err| sqlite_error(&path, err))).await
    }

    async fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        let path = self.path().to_owned();
        self.readers().run(move |conn| snapshot::latest(conn).map_err(|err| sqlite_error(&path, err))).await
    }

    async fn save_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.writer()?.request(WriteOp::SaveSnapshot(snapshot)).await.map(|_| ())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Drop for SharedStore {
    fn drop(&mut self) {
        // Before the writer is dropped, which waits for its thread: the writer can only remove the WAL as the last
        // user.
        self.readers.close();
    }
}

pub(crate) fn log_path(data_dir: &Utf8Path) -> Utf8PathBuf {
    data_dir.join("ao.db")
}

fn limit_size(conn: &rusqlite::Connection, bytes: u64) -> rusqlite::Result<()> {
    let page: i64 = conn.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page;
    conn.query_row(&format!("PRAGMA max_page_count = {}", pages.max(1)), [], |_| Ok(()))
}
