//! Reading: in pages, by scope, and never waiting for the writer.

use ao_ports::{EventStore, StoreError};
use ao_store::Store;

use crate::support::{DataDir, records};

#[tokio::test]
async fn pages_meet_without_gap_and_a_short_one_is_the_last() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=25), None).await.unwrap();

    let mut seen = Vec::new();
    loop {
        let page = store.read(seen.len() as u64, 10).await.unwrap();
        seen.extend(page.iter().map(|record| record.seq));
        if page.len() < 10 {
            break;
        }
    }
    assert_eq!(seen, (1..=25).collect::<Vec<_>>());
    assert_eq!(store.read(25, 10).await.unwrap(), []);
    assert_eq!(store.read(u64::MAX, 10).await.unwrap(), []);
    assert_eq!(store.read(0, 0).await.unwrap(), []);
}

#[tokio::test]
async fn the_history_of_a_scope_is_paged_from_its_end() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=10), None).await.unwrap();
    let seqs = async |before, limit| -> Vec<u64> {
        let page = store.history("ses_1", before, limit).await.unwrap();
        assert!(page.iter().all(|record| record.scope == "ses_1"));
        page.iter().map(|record| record.seq).collect()
    };

    assert_eq!(seqs(None, 2).await, [10, 7]);
    assert_eq!(seqs(Some(7), 2).await, [4, 1]);
    assert!(seqs(Some(1), 2).await.is_empty());
    assert_eq!(store.history("ses_", None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn a_read_does_not_wait_for_a_write_that_hangs() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1]), None).await.unwrap();
    // Another connection holds the write lock, in the middle of a change.
    let foreign = dir.foreign();
    foreign.execute_batch("BEGIN IMMEDIATE; DELETE FROM events").unwrap();

    let writer = store.clone();
    let mut append = tokio::spawn(async move { writer.append(records([2]), None).await });
    tokio::select! {
        biased;
        _ = &mut append => panic!("the write lock was held"),
        read = store.read(0, 10) => assert_eq!(read.unwrap().len(), 1),
    }

    foreign.execute_batch("ROLLBACK").unwrap();
    assert_eq!(append.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_tool_reads_beside_the_daemon_and_sees_what_it_appends() {
    let dir = DataDir::new();
    let store = dir.open();
    let tool = Store::open_read_only(&dir).unwrap();
    store.append(records([1]), None).await.unwrap();

    assert_eq!(tool.last_seq().await.unwrap(), 1);
    let refused = tool.append(records([2]), None).await.unwrap_err();
    assert!(refused.to_string().contains("opened for reading only"), "{refused}");
}

#[tokio::test]
async fn a_tool_reads_without_a_daemon_and_leaves_room_for_one() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=5), None).await.unwrap();
    drop(store);

    let tool = Store::open_read_only(&dir).unwrap();
    assert_eq!(tool.last_seq().await.unwrap(), 5);
    assert_eq!(dir.open().append(records([6]), None).await.unwrap(), 6);
    assert_eq!(tool.last_seq().await.unwrap(), 6);
}

#[tokio::test]
async fn a_gap_in_the_log_is_damage_and_not_skipped() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=5), None).await.unwrap();
    dir.foreign().execute("DELETE FROM events WHERE seq IN (1, 3)", []).unwrap();

    for after in [0, 1, 2] {
        let err = store.read(after, 10).await.unwrap_err();
        assert!(matches!(err, StoreError::Damaged { .. }), "{after}: {err}");
    }
    assert_eq!(store.read(3, 10).await.unwrap().len(), 2);
}
