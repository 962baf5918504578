//! Snapshots: the newest that is intact.

use ao_ports::{EventStore, Snapshot};

use crate::support::{DataDir, records, snapshot};

#[tokio::test]
async fn the_newest_counts_and_an_older_one_is_ignored() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=30), None).await.unwrap();
    assert_eq!(store.latest_snapshot().await.unwrap(), None);

    for seq in [10, 20, 15, 30, 5] {
        store.save_snapshot(snapshot(seq)).await.unwrap();
    }

    assert_eq!(store.latest_snapshot().await.unwrap(), Some(snapshot(30)));
    let kept: i64 = dir.foreign().query_row("SELECT count(*) FROM snapshots", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 2);
}

#[tokio::test]
async fn the_same_position_in_a_newer_format_replaces() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=2), None).await.unwrap();
    store.save_snapshot(snapshot(1)).await.unwrap();
    store.save_snapshot(snapshot(2)).await.unwrap();
    let newer = Snapshot { format: 2, ..snapshot(2) };
    store.save_snapshot(newer.clone()).await.unwrap();
    assert_eq!(store.latest_snapshot().await.unwrap(), Some(newer));
}

#[tokio::test]
async fn a_damaged_one_gives_way_to_its_spare_and_then_to_none() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=20), None).await.unwrap();
    store.save_snapshot(snapshot(10)).await.unwrap();
    store.save_snapshot(snapshot(20)).await.unwrap();

    dir.foreign().execute("UPDATE snapshots SET body = x'00' WHERE seq = 20", []).unwrap();
    assert_eq!(store.latest_snapshot().await.unwrap(), Some(snapshot(10)));

    dir.foreign().execute("UPDATE snapshots SET format = 7 WHERE seq = 10", []).unwrap();
    assert_eq!(store.latest_snapshot().await.unwrap(), None);
}

#[tokio::test]
async fn one_that_runs_ahead_of_the_log_is_refused() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1]), None).await.unwrap();
    let refused = store.save_snapshot(snapshot(2)).await.unwrap_err();
    assert!(refused.to_string().contains("the log ends at 1"), "{refused}");
    assert_eq!(store.latest_snapshot().await.unwrap(), None);
}
