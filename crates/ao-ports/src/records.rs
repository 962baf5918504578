//! Documents that an adapter stores permanently, in the daemon's own file, each under a key on a shelf.
//!
//! For adapters that are a system of record themselves, such as the built-in forge. The core gets its facts from the
//! adapter; none of this is part of the event log.

use async_trait::async_trait;

use crate::store::StoreError;

/// One change to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordChange {
    pub shelf: String,
    pub key: String,
    /// The new content, as JSON; absent to remove the document.
    pub body: Option<String>,
}

impl RecordChange {
    pub fn put(shelf: &str, key: impl Into<String>, body: impl Into<String>) -> RecordChange {
        RecordChange { shelf: shelf.to_owned(), key: key.into(), body: Some(body.into()) }
    }

    pub fn remove(shelf: &str, key: impl Into<String>) -> RecordChange {
        RecordChange { shelf: shelf.to_owned(), key: key.into(), body: None }
    }
}

/// Documents on shelves. Keys are ordered by their bytes.
#[async_trait]
pub trait Records: Send + Sync {
    /// Returns one document, if it exists.
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError>;

    /// Returns at most `limit` documents whose keys begin with `prefix` and come after `after`, sorted by key, each
    /// with its key.
    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError>;

    /// Makes all changes or none, in this order. On return they are on disk.
    async fn change(&self, changes: Vec<RecordChange>) -> Result<(), StoreError>;
}
