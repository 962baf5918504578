//! Documents in memory, for the tests of whoever keeps some.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use ao_ports::{Change, Records, StoreError};
use async_trait::async_trait;

/// Documents that are gone with the last clone. Stricter than those on disk: it takes nothing that is not JSON.
#[derive(Debug, Clone, Default)]
pub struct MemoryRecords {
    shelves: Arc<Mutex<BTreeMap<(String, String), String>>>,
}

impl MemoryRecords {
    /// All there is, as shelf and key.
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

    async fn change(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        for change in &changes {
            let Some(body) = &change.body else { continue };
            if let Err(err) = serde_json::from_str::<serde_json::Value>(body) {
                let detail = format!("document `{}` of `{}` is not JSON: {err}", change.key, change.shelf);
                return Err(StoreError::Failed { path: "memory".into(), detail });
            }
        }
        let mut shelves = self.shelves.lock().expect("no panic while held");
        for Change { shelf, key, body } in changes {
            match body {
                Some(body) => shelves.insert((shelf, key), body),
                None => shelves.remove(&(shelf, key)),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::records_contract!(MemoryRecords::default());

    #[tokio::test]
    async fn what_is_not_json_is_refused_with_all_that_came_along() {
        let records = MemoryRecords::default();
        let changes = vec![Change::put("a", "1", "{}"), Change::put("a", "2", "nonsense")];
        let err = records.change(changes).await.unwrap_err().to_string();
        assert!(err.contains("document `2` of `a` is not JSON"), "{err}");
        assert_eq!(records.keys(), []);
    }
}
