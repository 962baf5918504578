//! Documents in memory, for the tests of adapters that store some.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ao_ports::{RecordChange, Records, StoreError};
use async_trait::async_trait;
use tokio::sync::Notify;

/// Documents that are gone with the last clone. Stricter than the store on disk: refuses bodies that are not JSON.
#[derive(Debug, Clone, Default)]
pub struct MemoryRecords {
    shelves: Arc<Mutex<BTreeMap<(String, String), String>>>,
}

impl MemoryRecords {
    /// Returns shelf and key of all documents.
    pub fn keys(&self) -> Vec<(String, String)> {
        self.shelves.lock().expect("no panic while held").keys().cloned().collect()
    }
}

#[async_trait]
impl Records for MemoryRecords {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        let shelves = self.shelves.lock().expect("no panic while held");
        Ok(shelves.get(&(shelf.to_owned(), key.to_owned())).cloned())
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let shelves = self.shelves.lock().expect("no panic while held");
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded((shelf.to_owned(), after.to_owned())),
            _ => Bound::Included((shelf.to_owned(), prefix.to_owned())),
        };
        let on_shelf = shelves.range((from, Bound::Unbounded));
        Ok(on_shelf
            .take_while(|((other, key), _)| other == shelf && key.starts_with(prefix))
            .take(limit)
            .map(|((_, key), body)| (key.clone(), body.clone()))
            .collect())
    }

    async fn change(&self, changes: Vec<RecordChange>) -> Result<(), StoreError> {
        for change in &changes {
            let Some(body) = &change.body else { continue };
            if let Err(err) = serde_json::from_str::<serde_json::Value>(body) {
                let detail = format!("document `{}` of `{}` is not JSON: {err}", change.key, change.shelf);
                return Err(StoreError::Failed { path: "memory".into(), detail });
            }
        }
        let mut shelves = self.shelves.lock().expect("no panic while held");
        for RecordChange { shelf, key, body } in changes {
            match body {
                Some(body) => shelves.insert((shelf, key), body),
                None => shelves.remove(&(shelf, key)),
            };
        }
        Ok(())
    }
}

/// Records in memory that a test observes and makes fail.
#[derive(Debug, Default)]
pub struct ProbedRecords {
    documents: MemoryRecords,
    /// Number of further changes that succeed; all, if absent.
    changes_left: Mutex<Option<usize>>,
    /// Makes a change wait after it was made, until it is resumed.
    hangs: AtomicBool,
    hung: Notify,
    resumed: Notify,
    read_keys: Mutex<Vec<String>>,
    listed_prefixes: Mutex<Vec<String>>,
}

impl ProbedRecords {
    /// Makes all changes fail after this many more, as if the daemon had died then.
    pub fn fail_after(&self, changes: usize) {
        *self.changes_left.lock().expect("no panic while held") = Some(changes);
    }

    /// Lets changes succeed again.
    pub fn recover(&self) {
        *self.changes_left.lock().expect("no panic while held") = None;
    }

    /// Runs something and drops it right after the next change that it makes.
    pub async fn die_after_change<T>(&self, what: impl Future<Output = T>) {
        self.hangs.store(true, Ordering::SeqCst);
        tokio::select! {
            _ = what => panic!("nothing was changed"),
            () = self.hung.notified() => {}
        }
        self.hangs.store(false, Ordering::SeqCst);
        self.resumed.notify_one();
    }

    /// Returns the number of documents whose keys begin with a prefix.
    pub fn count(&self, prefix: &str) -> usize {
        self.documents.keys().iter().filter(|(_, key)| key.starts_with(prefix)).count()
    }

    /// Returns the keys of the documents that were read since the last call.
    pub fn take_read_keys(&self) -> Vec<String> {
        std::mem::take(&mut *self.read_keys.lock().expect("no panic while held"))
    }

    /// Returns the prefixes that were listed since the last call.
    pub fn take_listed_prefixes(&self) -> Vec<String> {
        std::mem::take(&mut *self.listed_prefixes.lock().expect("no panic while held"))
    }
}

#[async_trait]
impl Records for ProbedRecords {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.read_keys.lock().expect("no panic while held").push(key.to_owned());
        self.documents.get(shelf, key).await
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.listed_prefixes.lock().expect("no panic while held").push(prefix.to_owned());
        let found = self.documents.list(shelf, prefix, after, limit).await?;
        self.read_keys.lock().expect("no panic while held").extend(found.iter().map(|(key, _)| key.clone()));
        Ok(found)
    }

    async fn change(&self, changes: Vec<RecordChange>) -> Result<(), StoreError> {
        if let Some(left) = self.changes_left.lock().expect("no panic while held").as_mut() {
            *left = left.checked_sub(1).ok_or_else(|| StoreError::Full { path: "records".to_owned() })?;
        }
        self.documents.change(changes).await?;
        if self.hangs.load(Ordering::SeqCst) {
            self.hung.notify_one();
            self.resumed.notified().await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod in_memory {
        use crate::MemoryRecords;

        crate::records_contract!(MemoryRecords::default());
    }

    mod probed {
        use crate::ProbedRecords;

        crate::records_contract!(ProbedRecords::default());
    }

    #[tokio::test]
    async fn a_document_that_is_not_json_refuses_the_whole_change() {
        let records = MemoryRecords::default();
        let changes = vec![RecordChange::put("a", "1", "{}"), RecordChange::put("a", "2", "nonsense")];
        let err = records.change(changes).await.unwrap_err().to_string();
        assert!(err.contains("document `2` of `a` is not JSON"), "{err}");
        assert_eq!(records.keys(), []);
    }
}
