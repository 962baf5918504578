//! A full disk: an error that says so, nothing lost, and on it goes when there is room again.

use std::process::Command;

use ao_core::Timestamp;
use ao_ports::{EventStore, StoreError};
use ao_store::{Options, Retention, Store};

use crate::child;
use crate::support::{DataDir, numbers, records, snapshot};

const SMALL: Options = Options { max_bytes: Some(256 * 1024) };

#[tokio::test]
async fn a_full_log_refuses_keeps_what_it_has_and_goes_on_with_more_room() {
    let dir = DataDir::new();
    let store = Store::open(&dir, SMALL).unwrap();
    let last = fill(&store).await;

    let err = store.append(records(0..100), None).await.unwrap_err();
    assert!(err.to_string().contains("no space left"), "{err}");
    assert_eq!(store.last_seq().await.unwrap(), last, "all of a batch or none of it");
    assert!(store.check().unwrap().is_ok());
    store.close().await.unwrap();

    let store = dir.open();
    assert_eq!(store.append(records([7]), Some(last)).await.unwrap(), last + 1);
    assert_eq!(numbers(&store).await.len() as u64, last + 1);
}

#[tokio::test]
async fn pruning_makes_room_in_a_full_log() {
    let dir = DataDir::new();
    let store = Store::open(&dir, SMALL).unwrap();
    store.append(records(0..1000), None).await.unwrap();
    store.save_snapshot(snapshot(900)).await.unwrap();
    store.save_snapshot(snapshot(1000)).await.unwrap();
    let last = fill(&store).await;

    store.prune(Retention { before: Timestamp(i64::MAX) }).await.unwrap();
    assert_eq!(store.append(records(0..100), Some(last)).await.unwrap(), last + 100);
    assert!(store.check().unwrap().is_ok());
}

#[tokio::test]
async fn a_small_append_succeeds_beside_one_that_is_too_large() {
    let dir = DataDir::new();
    let store = Store::open(&dir, SMALL).unwrap();
    let (small, large, also_small) = tokio::join!(
        store.append(records([1]), None),
        store.append(records(0..100_000), None),
        store.append(records([2]), None),
    );
    assert_eq!(small.unwrap(), 1);
    assert!(matches!(large, Err(StoreError::Full { .. })));
    assert_eq!(also_small.unwrap(), 2);
    assert_eq!(numbers(&store).await, [1, 2]);
}

#[test]
fn as_root_a_disk_that_is_really_full_is_survived_too() {
    let dir = DataDir::new();
    let mount = dir.beside("disk");
    std::fs::create_dir(&mount).unwrap();
    // A disk of our own, in a namespace of our own.
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o size=2m none \"$0\" && exec \"$@\"";
    command.args(["--mount", "sh", "-c", script, mount.as_str()]);
    command.arg(std::env::current_exe().unwrap());
    child::play(&mut command, "fill", &mount.join("data"));
    assert_eq!(child::all_said(command), ["full", "went on"]);
}

/// Appends until there is no room left, and returns where the log ends.
async fn fill(store: &Store) -> u64 {
    loop {
        match store.append(records(0..100), None).await {
            Ok(_) => {}
            Err(StoreError::Full { .. }) => return store.last_seq().await.unwrap(),
            Err(err) => panic!("{err}"),
        }
    }
}
