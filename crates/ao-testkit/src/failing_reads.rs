//! An event log that cannot be read for as long as a test wants.

use std::fmt;
use std::sync::Arc;

use ao_ports::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
use async_trait::async_trait;

/// A store whose reads fail while `fails` returns true. It is asked once for each read.
pub struct FailingReads {
    pub store: Arc<dyn EventStore>,
    pub fails: Box<dyn Fn() -> bool + Send + Sync>,
}

#[async_trait]
impl EventStore for FailingReads {
    async fn append(&self, records: Vec<NewRecord>, after: Option<Seq>) -> Result<Seq, StoreError> {
        self.store.append(records, after).await
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        if (self.fails)() {
            let (path, detail) = ("ao.db".into(), "the disk does not answer".into());
            return Err(StoreError::Damaged { path, detail });
        }
        self.store.read(after, limit).await
    }

    async fn last_seq(&self) -> Result<Seq, StoreError> {
        self.store.last_seq().await
    }

    async fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        self.store.latest_snapshot().await
    }

    async fn save_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.store.save_snapshot(snapshot).await
    }
}

impl fmt::Debug for FailingReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailingReads").finish_non_exhaustive()
    }
}
