//! Shared parts of all tests: a directory, a store in it, and records to put there.

use std::ops::Deref;

use ao_core::Timestamp;
use ao_ports::{EventStore, NewRecord, Seq, Snapshot};
use ao_store::{Options, Store};
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use tempfile::TempDir;

/// A data directory that goes away with the test.
pub(crate) struct DataDir {
    root: TempDir,
    dir: Utf8PathBuf,
}

impl DataDir {
    pub(crate) fn new() -> DataDir {
        let root = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(root.path()).unwrap().join("data");
        DataDir { root, dir }
    }

    /// A path beside the data directory.
    pub(crate) fn beside(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.root.path()).unwrap().join(name)
    }

    pub(crate) fn log(&self) -> Utf8PathBuf {
        self.dir.join("ao.db")
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.dir, Options::default()).unwrap()
    }

    /// A connection of a program that knows nothing of us.
    pub(crate) fn foreign(&self) -> Connection {
        Connection::open(self.log()).unwrap()
    }
}

impl Deref for DataDir {
    type Target = Utf8Path;

    fn deref(&self) -> &Utf8Path {
        &self.dir
    }
}

/// A record that is identified by its number, which is also its time.
pub(crate) fn record(n: u64) -> NewRecord {
    NewRecord {
        at: Timestamp(n as i64),
        kind: "session.queued".into(),
        version: 1,
        scope: format!("ses_{}", n % 3),
        body: format!(r#"{{"n":{n}}}"#),
    }
}

pub(crate) fn records(numbers: impl IntoIterator<Item = u64>) -> Vec<NewRecord> {
    numbers.into_iter().map(record).collect()
}

pub(crate) fn snapshot(seq: Seq) -> Snapshot {
    Snapshot { seq, format: 1, body: format!("the state after {seq}").into_bytes() }
}

/// Reads the whole log as the numbers its records were made with, and makes sure that they are where they should be.
pub(crate) async fn numbers(store: &Store) -> Vec<u64> {
    let records = store.read(0, usize::MAX).await.unwrap();
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record.seq, index as Seq + 1);
    }
    records.iter().map(|record| record.at.0 as u64).collect()
}

/// Runs a future in a test that is not async itself.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
