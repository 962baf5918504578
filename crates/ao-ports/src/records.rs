//! What a slot keeps for good, in the daemon's own file: small documents, each under a key on a shelf.
//!
//! For adapters that are a system of record themselves, such as the forge in the box. What the core has to know it hears
//! as facts, whoever keeps them; nothing here is part of the event log.

use async_trait::async_trait;

use crate::store::StoreError;

/// One change to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub shelf: String,
    pub key: String,
    /// The new content, as JSON; absent to take the document away.
    pub body: Option<String>,
}

impl Change {
    pub fn put(shelf: &str, key: impl Into<String>, body: impl Into<String>) -> Change {
        Change { shelf: shelf.to_owned(), key: key.into(), body: Some(body.into()) }
    }

    pub fn remove(shelf: &str, key: impl Into<String>) -> Change {
        Change { shelf: shelf.to_owned(), key: key.into(), body: None }
    }
}

/// Documents on shelves. Keys are ordered by their bytes.
#[async_trait]
pub trait Records: Send + Sync {
    /// One document, if there is such a one.
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError>;

    /// The documents whose keys begin with `prefix` and come behind `after`, in the order of their keys, at most `limit`,
    /// each with its key.
    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError>;

    /// Makes all changes or none, in this order. On return they are on disk.
    async fn change(&self, changes: Vec<Change>) -> Result<(), StoreError>;
}
