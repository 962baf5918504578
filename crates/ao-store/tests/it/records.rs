//! Documents beside the log: the contract, and what a file adds to it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ao_ports::{EventStore, RecordChange, Records, StoreError};
use ao_store::{Options, Store, import};
use async_trait::async_trait;
use tokio::task::JoinSet;

use crate::support::{DataDir, records};

ao_testkit::records_contract!(Kept::new());

#[tokio::test]
async fn changes_are_made_together_or_not_at_all() {
    let dir = DataDir::new();
    let store = dir.open();
    store.change(vec![RecordChange::put("s", "old", "1")]).await.unwrap();
    dir.foreign()
        .execute_batch(
            "CREATE TRIGGER no_thirteen BEFORE INSERT ON records WHEN new.body = '13'
             BEGIN SELECT raise(ABORT, 'unlucky'); END",
        )
        .unwrap();

    // Sent together, so that they meet in one group.
    let (before, broken, event, behind) = tokio::join!(
        store.change(vec![RecordChange::put("s", "before", "1")]),
        store.change(vec![
            RecordChange::put("s", "new", "1"),
            RecordChange::remove("s", "old"),
            RecordChange::put("s", "bad", "13")
        ]),
        store.append(records([1]), None),
        store.change(vec![RecordChange::put("s", "behind", "1")]),
    );

    before.unwrap();
    assert!(broken.unwrap_err().to_string().contains("unlucky"));
    assert_eq!(event.unwrap(), 1);
    behind.unwrap();
    assert_eq!(keys(&store).await, ["before", "behind", "old"]);
}

#[tokio::test]
async fn documents_are_there_after_a_restart_and_in_a_backup() {
    let dir = DataDir::new();
    let store = dir.open();
    store
        .change((0..100).map(|n| RecordChange::put("s", format!("{n:03}"), n.to_string())).collect())
        .await
        .unwrap();
    let copy = dir.beside("copy.db");
    assert_eq!(store.backup(&copy).unwrap().records, 100);
    drop(store);
    let kept = dir.open().list("s", "", None, usize::MAX).await.unwrap();
    assert_eq!(kept.len(), 100);

    let restored = DataDir::new();
    fs::create_dir(&*restored).unwrap();
    fs::copy(&copy, restored.log()).unwrap();
    assert_eq!(restored.open().list("s", "", None, usize::MAX).await.unwrap(), kept);
}

#[tokio::test]
async fn concurrent_changes_share_a_commit() {
    const CHANGES: usize = 400;
    let dir = DataDir::new();
    let store = dir.open();
    store.change(vec![RecordChange::put("s", "first", "0")]).await.unwrap();
    let before = commits(&dir);

    // Another connection holds the file, so all of them are waiting when the writer gets its turn.
    let foreign = dir.foreign();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let handed_over = Arc::new(AtomicUsize::new(0));
    let mut changing = JoinSet::new();
    for n in 0..CHANGES {
        let (store, handed_over) = (store.clone(), Arc::clone(&handed_over));
        changing.spawn(async move {
            // There is room for all of them in the queue, so that the same turn of this task hands it over.
            handed_over.fetch_add(1, Ordering::SeqCst);
            store.change(vec![RecordChange::put("s", n.to_string(), "1")]).await.unwrap();
        });
    }
    while handed_over.load(Ordering::SeqCst) < CHANGES {
        tokio::task::yield_now().await;
    }
    foreign.execute_batch("ROLLBACK").unwrap();
    while let Some(done) = changing.join_next().await {
        done.unwrap();
    }

    assert_eq!(keys(&store).await.len(), CHANGES + 1);
    let commits = commits(&dir) - before;
    assert!((1..=10).contains(&commits), "{commits} commits for {CHANGES} changes");
}

#[tokio::test]
async fn a_full_file_refuses_and_keeps_what_it_has() {
    let dir = DataDir::new();
    let store = Store::open(&dir, Options { max_bytes: Some(256 * 1024) }).unwrap();
    store.change(vec![RecordChange::put("s", "small", "1")]).await.unwrap();
    let large = format!("\"{}\"", "x".repeat(512 * 1024));
    let changes = vec![RecordChange::remove("s", "small"), RecordChange::put("s", "large", large)];
    let (refused, neighbour) =
        tokio::join!(store.change(changes), store.change(vec![RecordChange::put("s", "neighbour", "1")]));
    assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
    neighbour.unwrap();
    assert_eq!(keys(&store).await, ["neighbour", "small"]);
    assert!(store.check().unwrap().is_ok());
}

#[tokio::test]
async fn who_only_reads_cannot_change_and_who_has_closed_can_do_nothing() {
    let dir = DataDir::new();
    let store = dir.open();
    store.change(vec![RecordChange::put("s", "k", "1")]).await.unwrap();
    let reader = Store::open_read_only(&dir).unwrap();
    assert_eq!(reader.get("s", "k").await.unwrap().as_deref(), Some("1"));
    let refused = reader.change(vec![RecordChange::remove("s", "k")]).await.unwrap_err().to_string();
    assert!(refused.contains("opened for reading only"), "{refused}");
    store.close().await.unwrap();
    let closed = store.change(vec![]).await.unwrap_err().to_string();
    assert!(closed.contains("has been closed"), "{closed}");
}

#[tokio::test]
async fn a_whole_export_has_the_documents_and_brings_them_back() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=2), None).await.unwrap();
    let odd = vec![
        RecordChange::put("issues", "b", "{\n\"text\": \"two\\nlines\"}"),
        RecordChange::put("issues", "a \"quoted\"", "1"),
        RecordChange::put("broken", "k", "{"),
    ];
    store.change(odd).await.unwrap();

    let mut out = Vec::new();
    let exported = store.export(&mut out, ..).unwrap();
    assert_eq!((exported.events, exported.records, exported.unreadable_records), (2, 2, 1));
    let text = String::from_utf8(out).unwrap();
    let documents: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        documents,
        [
            r#"{"shelf":"issues","key":"a \"quoted\"","body":1}"#,
            r#"{"shelf":"issues","key":"b","body":{ "text": "two\nlines"}}"#
        ]
    );
    let mut range = Vec::new();
    assert_eq!(store.export(&mut range, 1..).unwrap().records, 0, "a range is one of events");

    let other = DataDir::new();
    assert_eq!(import(&other, &mut text.as_bytes()).unwrap(), 2);
    let other = other.open();
    let mut again = Vec::new();
    other.export(&mut again, ..).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), text);
}

#[tokio::test]
async fn more_documents_than_are_kept_in_memory_are_exported_too() {
    let dir = DataDir::new();
    let store = dir.open();
    let body = serde_json::to_string(&"x".repeat(64 << 10)).unwrap();
    let put = |number: u32| RecordChange::put("issues", format!("{number:03}"), body.clone());
    store.change((0..200).map(put).collect()).await.unwrap();
    let mut out = Vec::new();
    assert_eq!(store.export(&mut out, ..).unwrap().records, 200);
    let text = String::from_utf8(out).unwrap();
    let lines =
        (0..200).map(|number| format!("{{\"shelf\":\"issues\",\"key\":\"{number:03}\",\"body\":{body}}}"));
    assert!(text.lines().eq(lines), "there are {} lines of {} bytes", text.lines().count(), text.len());
}

#[tokio::test]
async fn a_document_that_is_not_json_is_reported() {
    let dir = DataDir::new();
    let store = dir.open();
    store
        .change(vec![RecordChange::put("s", "good", "{}"), RecordChange::put("s", "bad", "{")])
        .await
        .unwrap();
    let report = store.check().unwrap();
    assert_eq!(report.records, 2);
    assert_eq!(
        report.problems,
        ["document `bad` of `s` is not JSON: EOF while parsing an object at line 1 column 1"]
    );
}

/// A store with its directory.
struct Kept {
    store: Store,
    _dir: DataDir,
}

impl Kept {
    fn new() -> Kept {
        let dir = DataDir::new();
        Kept { store: dir.open(), _dir: dir }
    }
}

#[async_trait]
impl Records for Kept {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.store.get(shelf, key).await
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.store.list(shelf, prefix, after, limit).await
    }

    async fn change(&self, changes: Vec<RecordChange>) -> Result<(), StoreError> {
        self.store.change(changes).await
    }
}

async fn keys(store: &Store) -> Vec<String> {
    store.list("s", "", None, usize::MAX).await.unwrap().into_iter().map(|(key, _)| key).collect()
}

/// Counts the transactions in the WAL: the last frame of each holds the size of the file at that point.
/// See <https://www.sqlite.org/fileformat.html#the_write_ahead_log>.
fn commits(dir: &DataDir) -> usize {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 4096;
    let wal = fs::read(dir.join("ao.db-wal")).unwrap();
    wal[HEADER..].chunks_exact(FRAME).filter(|frame| frame[4..8] != [0; 4]).count()
}
