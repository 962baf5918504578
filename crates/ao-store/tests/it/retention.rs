//! Retention: what is old and covered goes, and nothing else.

use ao_core::Timestamp;
use ao_ports::{EventStore, StoreError};
use ao_store::{PruneReport, Retention, Store};

use crate::support::{DataDir, record, records, snapshot};

#[tokio::test]
async fn only_what_is_old_and_covered_by_the_spare_goes() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=5000), None).await.unwrap();
    assert_eq!(prune(&store, 9999).await, 0, "nothing is covered");
    store.save_snapshot(snapshot(4000)).await.unwrap();
    assert_eq!(prune(&store, 9999).await, 0, "covered once is not enough");
    store.save_snapshot(snapshot(4500)).await.unwrap();

    assert_eq!(prune(&store, 3001).await, 3000);
    assert!(matches!(store.read(2999, 10).await, Err(StoreError::Pruned { first_kept: 3001 })));
    assert_eq!(store.read(3000, 1).await.unwrap()[0].seq, 3001);
    assert_eq!(prune(&store, 9999).await, 1000, "up to the spare");
    assert_eq!(store.last_seq().await.unwrap(), 5000);
    assert!(store.check().unwrap().is_ok());
}

#[tokio::test]
async fn positions_are_not_used_again_afterwards() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=10), None).await.unwrap();
    store.save_snapshot(snapshot(9)).await.unwrap();
    store.save_snapshot(snapshot(10)).await.unwrap();
    assert_eq!(prune(&store, 9999).await, 9);
    drop(store);

    let store = dir.open();
    assert!(matches!(store.read(0, 10).await, Err(StoreError::Pruned { first_kept: 10 })));
    assert_eq!(store.append(records([11]), Some(10)).await.unwrap(), 11);
}

#[tokio::test]
async fn a_damaged_snapshot_does_not_count_as_cover() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=100), None).await.unwrap();
    store.save_snapshot(snapshot(50)).await.unwrap();
    store.save_snapshot(snapshot(100)).await.unwrap();
    dir.foreign().execute("UPDATE snapshots SET body = x'00' WHERE seq = 100", []).unwrap();
    assert_eq!(prune(&store, 9999).await, 0);
}

#[tokio::test]
async fn a_young_event_keeps_what_comes_behind_it_even_if_a_clock_jumped_back() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1, 2, 900, 3, 4, 5]), None).await.unwrap();
    store.save_snapshot(snapshot(5)).await.unwrap();
    store.save_snapshot(snapshot(6)).await.unwrap();
    assert_eq!(prune(&store, 100).await, 2);
    assert_eq!(store.read(2, 10).await.unwrap().len(), 4);
}

#[tokio::test]
async fn space_goes_back_to_the_disk() {
    let dir = DataDir::new();
    let store = dir.open();
    let large = |n| {
        let mut large = record(n);
        large.body = format!(r#""{}""#, "x".repeat(4000));
        large
    };
    store.append((1..=2000).map(large).collect(), None).await.unwrap();
    store.save_snapshot(snapshot(1990)).await.unwrap();
    store.save_snapshot(snapshot(2000)).await.unwrap();
    store.close().await.unwrap();
    let before = dir.log().metadata().unwrap().len();

    let store = dir.open();
    assert_eq!(prune(&store, 9999).await, 1990);
    store.close().await.unwrap();
    let after = dir.log().metadata().unwrap().len();
    assert!(after * 10 < before, "{before} bytes before, {after} after");
}

#[tokio::test]
async fn appends_go_on_while_a_prune_runs() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=20_000), None).await.unwrap();
    store.save_snapshot(snapshot(19_000)).await.unwrap();
    store.save_snapshot(snapshot(20_000)).await.unwrap();

    let mut during = 0;
    let pruned = {
        let pruning = prune(&store, 99_999);
        tokio::pin!(pruning);
        loop {
            tokio::select! {
                pruned = &mut pruning => break pruned,
                appended = store.append(records([1]), None) => {
                    appended.unwrap();
                    during += 1;
                }
            }
        }
    };
    assert_eq!(pruned, 19_000);
    assert!(during > 3, "only {during} appends got their turn");
    assert!(store.check().unwrap().is_ok());
}

async fn prune(store: &Store, before: i64) -> u64 {
    let PruneReport { events } = store.prune(Retention { before: Timestamp(before) }).await.unwrap();
    events
}
