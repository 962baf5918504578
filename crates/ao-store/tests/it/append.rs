//! Appending: all or nothing, in order, without gaps.

use ao_ports::{EventStore, StoreError};
use tokio::task::JoinSet;

use crate::support::{DataDir, numbers, record, records};

#[tokio::test]
async fn a_batch_gets_consecutive_positions_and_comes_back_as_it_was() {
    let dir = DataDir::new();
    let store = dir.open();

    assert_eq!(store.append(records(1..=3), None).await.unwrap(), 3);
    assert_eq!(store.append(records([4]), Some(3)).await.unwrap(), 4);

    let read = store.read(0, 10).await.unwrap();
    assert_eq!(read.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let (first, new) = (&read[0], record(1));
    assert_eq!(
        (first.at, &first.kind, first.version, &first.scope, &first.body),
        (new.at, &new.kind, new.version, &new.scope, &new.body)
    );
}

#[tokio::test]
async fn an_empty_batch_writes_nothing_but_still_says_where_the_log_ends() {
    let dir = DataDir::new();
    let store = dir.open();
    assert_eq!(store.append(vec![], None).await.unwrap(), 0);
    store.append(records(1..=2), None).await.unwrap();
    assert_eq!(store.append(vec![], Some(2)).await.unwrap(), 2);
    assert!(matches!(store.append(vec![], Some(1)).await, Err(StoreError::Moved { expected: 1, found: 2 })));
    assert_eq!(store.last_seq().await.unwrap(), 2);
}

#[tokio::test]
async fn a_stale_append_is_refused_and_its_neighbours_in_the_group_are_not() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1]), None).await.unwrap();

    // Sent together, so that they meet in one group.
    let (before, stale, behind, conditional) = tokio::join!(
        store.append(records([2]), None),
        store.append(records([99]), Some(1)),
        store.append(records([3]), None),
        store.append(records([4]), Some(3)),
    );

    assert_eq!(before.unwrap(), 2);
    assert!(matches!(stale, Err(StoreError::Moved { expected: 1, found: 2 })));
    assert_eq!(behind.unwrap(), 3);
    assert_eq!(conditional.unwrap(), 4);
    assert_eq!(numbers(&store).await, [1, 2, 3, 4]);
}

#[tokio::test]
async fn one_append_that_breaks_the_transaction_does_not_fail_the_others() {
    let dir = DataDir::new();
    let store = dir.open();
    dir.foreign()
        .execute_batch(
            "CREATE TRIGGER no_thirteen BEFORE INSERT ON events WHEN new.at = 13
             BEGIN SELECT raise(ABORT, 'unlucky'); END",
        )
        .unwrap();

    let (before, broken, behind) = tokio::join!(
        store.append(records([1]), None),
        store.append(records([2, 13, 3]), None),
        store.append(records([4]), None),
    );

    assert_eq!(before.unwrap(), 1);
    assert!(broken.unwrap_err().to_string().contains("unlucky"));
    assert_eq!(behind.unwrap(), 2);
    assert_eq!(numbers(&store).await, [1, 4]);
}

#[tokio::test]
async fn a_foreign_writer_is_noticed_and_not_written_over() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1]), None).await.unwrap();
    dir.foreign().execute("INSERT INTO events VALUES (2, 50, 'k', 1, 's', '{}')", []).unwrap();

    // The first hears of it by way of the conflict, and nothing of it is written.
    let stale = store.append(records([2]), Some(1)).await;
    assert!(stale.is_err());
    assert!(matches!(
        store.append(records([2]), Some(1)).await,
        Err(StoreError::Moved { expected: 1, found: 2 })
    ));
    assert_eq!(store.append(records([3]), None).await.unwrap(), 3);
    assert_eq!(numbers(&store).await, [1, 50, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_producers_keep_their_own_order() {
    const PRODUCERS: u64 = 16;
    const EACH: u64 = 100;
    let dir = DataDir::new();
    let store = dir.open();

    let mut tasks = JoinSet::new();
    for producer in 0..PRODUCERS {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 0..EACH {
                store.append(records([producer * 1000 + n]), None).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }

    let all = numbers(&store).await;
    assert_eq!(all.len() as u64, PRODUCERS * EACH);
    for producer in 0..PRODUCERS {
        let own: Vec<u64> = all.iter().filter(|n| *n / 1000 == producer).map(|n| n % 1000).collect();
        assert_eq!(own, (0..EACH).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn accepted_records_are_written_before_the_last_handle_is_dropped() {
    let dir = DataDir::new();
    let store = dir.open();
    let other = store.clone();
    // The request was sent, and then the caller stops waiting for the answer.
    let append = tokio::spawn(async move { other.append(records(1..=100), None).await });
    tokio::task::yield_now().await;
    append.abort();
    _ = append.await;
    drop(store);

    assert!(!dir.join("ao.db-wal").exists());
    assert_eq!(numbers(&dir.open()).await.len(), 100);
}

#[tokio::test]
async fn a_closed_store_says_so_and_lets_the_next_one_in() {
    let dir = DataDir::new();
    let store = dir.open();
    let clone = store.clone();
    store.append(records([1]), None).await.unwrap();

    store.close().await.unwrap();
    store.close().await.unwrap();

    assert!(clone.append(records([2]), None).await.unwrap_err().to_string().contains("has been closed"));
    assert!(clone.read(0, 1).await.unwrap_err().to_string().contains("has been closed"));
    assert!(!dir.join("ao.db-wal").exists());
    assert_eq!(numbers(&dir.open()).await, [1]);
}
