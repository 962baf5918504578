//! The cost of listing open issues does not grow with the closed ones.

use std::sync::Arc;

use ao_core::Timestamp;
use ao_ports::{NewTask, TaskFilter, Tracker};
use ao_testkit::contract::tracker::TrackerBench;
use ao_testkit::{ManualClock, ProbedRecords};
use ao_tracker::{Keep, LocalTracker, Options};

use crate::support::Bench;

#[tokio::test]
async fn the_open_list_reads_no_closed_issue_and_the_closed_one_no_more_than_it_needs() {
    let bench = Bench::store();
    let records = Arc::new(ProbedRecords::default());
    let options = Options { project: bench.project(), keep: Keep::Store };
    let clock = ManualClock::at(Timestamp(1_000));
    let tracker = LocalTracker::new(options, records.clone(), Arc::new(clock.clone()));
    for n in 0..300 {
        clock.advance(1);
        let new = NewTask { closed: n % 3 != 0, ..bench.new_task(&format!("Task {n}")) };
        let id = tracker.create(&new).await.unwrap();
        tracker.comment(&id, &crate::support::ann(), "", "said").await.unwrap();
    }

    records.take_read_keys();
    let open = TaskFilter { closed: Some(false), limit: 50, ..TaskFilter::default() };
    assert_eq!(tracker.list(&bench.project(), &open).await.unwrap().len(), 50);
    let read = records.take_read_keys();
    assert!(!read.is_empty() && read.iter().all(|key| key.starts_with("my-app/open/")), "{read:?}");

    let closed = TaskFilter { closed: Some(true), limit: 5, ..TaskFilter::default() };
    assert_eq!(tracker.list(&bench.project(), &closed).await.unwrap().len(), 5);
    let read = records.take_read_keys();
    assert_eq!(read.iter().filter(|key| key.starts_with("my-app/closed/")).count(), 5);
    assert!(read.iter().all(|key| !key.contains("/comment/")));
}
