//! The cost of listing open issues does not grow with the closed ones.

use std::sync::{Arc, Mutex};

use ao_core::Timestamp;
use ao_ports::{Change, NewTask, Records, StoreError, TaskFilter, Tracker};
use ao_testkit::contract::tracker::TrackerBench;
use ao_testkit::{ManualClock, MemoryRecords};
use ao_tracker::{Keep, LocalTracker, Options};
use async_trait::async_trait;

use crate::support::Bench;

#[tokio::test]
async fn the_open_list_reads_no_closed_issue_and_the_closed_one_no_more_than_it_needs() {
    let bench = Bench::store();
    let spy = Arc::new(Spy::default());
    let options = Options { project: bench.project(), keep: Keep::Store };
    let clock = ManualClock::at(Timestamp(1_000));
    let tracker = LocalTracker::new(options, Arc::clone(&spy) as _, Arc::new(clock.clone()));
    for n in 0..300 {
        clock.advance(1);
        let new = NewTask { closed: n % 3 != 0, ..bench.new_task(&format!("Task {n}")) };
        let id = tracker.create(&new).await.unwrap();
        tracker.comment(&id, &crate::support::ann(), "", "said").await.unwrap();
    }

    spy.read.lock().unwrap().clear();
    let open = TaskFilter { closed: Some(false), limit: 50, ..TaskFilter::default() };
    assert_eq!(tracker.list(&bench.project(), &open).await.unwrap().len(), 50);
    let read = std::mem::take(&mut *spy.read.lock().unwrap());
    assert!(!read.is_empty() && read.iter().all(|key| key.starts_with("my-app/open/")), "{read:?}");

    let closed = TaskFilter { closed: Some(true), limit: 5, ..TaskFilter::default() };
    assert_eq!(tracker.list(&bench.project(), &closed).await.unwrap().len(), 5);
    let read = spy.read.lock().unwrap().clone();
    assert_eq!(read.iter().filter(|key| key.starts_with("my-app/closed/")).count(), 5);
    assert!(read.iter().all(|key| !key.contains("/comment/")));
}

/// Remembers which documents were read.
#[derive(Default)]
struct Spy {
    records: MemoryRecords,
    read: Mutex<Vec<String>>,
}

#[async_trait]
impl Records for Spy {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.read.lock().unwrap().push(key.to_owned());
        self.records.get(shelf, key).await
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let found = self.records.list(shelf, prefix, after, limit).await?;
        self.read.lock().unwrap().extend(found.iter().map(|(key, _)| key.clone()));
        Ok(found)
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.records.change(changes).await
    }
}
