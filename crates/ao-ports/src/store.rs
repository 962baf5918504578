//! The event log as the engine sees it: append, read, snapshot.

use ao_core::Timestamp;
use async_trait::async_trait;

/// The position of an event in the log. The first event has 1; 0 means "before everything".
pub type Seq = u64;

/// An encoded event on its way into the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    pub at: Timestamp,
    /// The kind of event, such as `session.queued`.
    pub kind: String,
    /// The version of this kind's body, so that old bodies stay readable.
    pub version: u16,
    /// The subject, such as `ses_4f` or `my-app`, so that a history can be read without decoding.
    pub scope: String,
    /// The event as JSON.
    pub body: String,
}

/// An event as stored in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    pub at: Timestamp,
    pub kind: String,
    pub version: u16,
    pub scope: String,
    pub body: String,
}

/// The state after all events up to `seq`, as the engine encoded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub seq: Seq,
    /// The format of `body`. A reader that does not know it replays the log instead.
    pub format: u32,
    pub body: Vec<u8>,
}

/// An append-only log of events with snapshots beside it.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// Appends all records or none, in order and without gaps, and returns the position of the last one.
    ///
    /// On return they are on disk. With `after` set, fails with [`StoreError::Moved`] unless the log ends exactly
    /// there: another process has written, and the caller's state is stale. An empty batch writes nothing.
    async fn append(&self, records: Vec<NewRecord>, after: Option<Seq>) -> Result<Seq, StoreError>;

    /// Reads at most `limit` records after `after`, oldest first. Fewer than `limit` means the end was reached.
    ///
    /// Fails with [`StoreError::Pruned`] if records after `after` have been removed by retention.
    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError>;

    /// Returns the position of the last record, 0 for an empty log.
    async fn last_seq(&self) -> Result<Seq, StoreError>;

    /// Returns the newest snapshot, if there is one.
    async fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError>;

    /// Stores a snapshot. One older than the newest is ignored, one at the same position replaces it, and the
    /// previous one stays as a spare. One ahead of the log is refused.
    async fn save_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError>;
}

/// The reason why an operation on the log failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the event log ends at {found}, not at {expected}: another process has written to it")]
    Moved { expected: Seq, found: Seq },
    #[error(
        "events before {first_kept} have been removed by retention; read from there, or start from a snapshot"
    )]
    Pruned { first_kept: Seq },
    #[error(
        "no space left for the event log `{path}`: free some space or raise its limit; nothing was lost or overwritten"
    )]
    Full { path: String },
    #[error("the event log `{path}` is damaged: {detail}. Keep the file, and restore a backup")]
    Damaged { path: String, detail: String },
    #[error("`{path}` is not an ao event log ({detail}); check which data directory was named")]
    Foreign { path: String, detail: String },
    #[error(
        "the event log `{path}` was written by a newer ao ({detail}); install that version or a later one"
    )]
    Newer { path: String, detail: String },
    #[error("another ao ({holder}) already uses `{path}`; stop it, or choose another data directory")]
    Locked { path: String, holder: String },
    #[error("the event log `{path}` failed: {detail}")]
    Failed { path: String, detail: String },
}
