//! The store as its users hold it.

use std::fmt;
use std::sync::Arc;

use ao_ports::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{failed, io_error, sqlite_error};
use crate::lock::DirLock;
use crate::prune::{Pruned, Retention};
use crate::readers::Readers;
use crate::writer::{self, Work};
use crate::{read, schema, snapshot};

/// How a store is to behave.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The size the log may grow to. Beyond it appends fail with [`StoreError::Full`], as on a full disk; without it
    /// only the disk sets the limit.
    pub max_bytes: Option<u64>,
}

/// The event log of one data directory, with the documents that are kept beside it. Cheap to clone; the last one to be dropped closes it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    path: Utf8PathBuf,
    readers: Arc<Readers>,
    /// Absent if opened for reading only.
    writer: Option<writer::Handle>,
}

impl Store {
    /// Opens the log in `data_dir` as its only writer, making both if need be.
    ///
    /// Fails with [`StoreError::Locked`] while another process has it. A file that is damaged, foreign or newer is
    /// left as it is. Blocks for the few milliseconds it takes.
    pub fn open(data_dir: &Utf8Path, options: Options) -> Result<Store, StoreError> {
        Store::open_locked(Arc::new(DirLock::take(data_dir)?), options)
    }

    /// Opens the log of a data directory whose lock is ours already, and keeps the lock until it is closed.
    pub fn open_locked(lock: Arc<DirLock>, options: Options) -> Result<Store, StoreError> {
        let path = log_path(lock.data_dir());
        if !path.try_exists().map_err(|err| io_error(&path, "look for the log", &err))? {
            schema::create(&path, |_| Ok::<_, StoreError>(()))?;
        }
        let conn = schema::open_writer(&path)?;
        if let Some(bytes) = options.max_bytes {
            limit_size(&conn, bytes).map_err(|err| sqlite_error(&path, err))?;
        }
        let writer = writer::Handle::start(&path, conn, lock)?;
        Ok(Store::new(path, Some(writer)))
    }

    /// Opens an existing log for reading, beside a daemon or without one. It cannot append, and holds no lock.
    pub fn open_read_only(data_dir: &Utf8Path) -> Result<Store, StoreError> {
        let store = Store::new(log_path(data_dir), None);
        // Says now what is wrong with the file, and not at the first read.
        store.shared.readers.run_here(|_| Ok(()))?;
        Ok(store)
    }

    fn new(path: Utf8PathBuf, writer: Option<writer::Handle>) -> Store {
        let readers = Arc::new(Readers::new(path.clone()));
        Store { shared: Arc::new(Shared { path, readers, writer }) }
    }

    /// Reads at most `limit` records of one scope in front of `before`, or in front of the end, newest first.
    ///
    /// To turn the page, pass the position of the last record of this one. What retention has removed is not in it.
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
    pub async fn prune(&self, retention: Retention) -> Result<Pruned, StoreError> {
        let writer = self.writer()?;
        let mut pruned = Pruned::default();
        let path = self.path().to_owned();
        let covered = self
            .readers()
            .run(move |conn| snapshot::covered_twice(conn).map_err(|err| sqlite_error(&path, err)))
            .await?;
        let Some(covered) = covered else { return Ok(pruned) };
        loop {
            let removed = writer.request(Work::Prune { before: retention.before, covered }).await?;
            if removed == 0 {
                break;
            }
            pruned.events += removed;
        }
        // Ends also if appends take the free pages faster than we give them back.
        let mut left = u64::MAX;
        while pruned.events > 0 && left > 0 {
            let now = writer.request(Work::Shrink).await?;
            if now >= left {
                break;
            }
            left = now;
        }
        Ok(pruned)
    }

    /// Closes the log: writes what was accepted, leaves one file without a WAL beside it, and releases the lock.
    ///
    /// Clones of this handle get an error from then on. Dropping the last handle does the same, but cannot say that
    /// it failed, and blocks its thread meanwhile.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.shared.readers.close();
        match &self.shared.writer {
            Some(writer) => writer.close().await,
            None => Ok(()),
        }
    }

    /// The file of the log.
    pub fn path(&self) -> &Utf8Path {
        &self.shared.path
    }

    pub(crate) fn readers(&self) -> &Arc<Readers> {
        &self.shared.readers
    }

    pub(crate) fn writer(&self) -> Result<&writer::Handle, StoreError> {
        let read_only = || failed(self.path(), "it was opened for reading only");
        self.shared.writer.as_ref().ok_or_else(read_only)
    }
}

#[async_trait]
impl EventStore for Store {
    async fn append(&self, records: Vec<NewRecord>, after: Option<Seq>) -> Result<Seq, StoreError> {
        self.writer()?.request(Work::Append { records, after }).await
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
        self.writer()?.request(Work::SaveSnapshot(snapshot)).await.map(|_| ())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Before the writer goes, which waits for its thread: it can only take the WAL away as the last one.
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
