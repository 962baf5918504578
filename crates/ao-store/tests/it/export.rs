//! Export and import.

use std::io::{self, Write};

use ao_core::Timestamp;
use ao_ports::{EventStore, NewRecord, StoreError};
use ao_store::{ExportError, ExportReport, Retention, Store, import};

use crate::support::{DataDir, record, records, snapshot};

#[tokio::test]
async fn an_export_has_one_event_a_line() {
    let dir = DataDir::new();
    let store = dir.open();
    let pretty = NewRecord { body: "{\n  \"text\": \"two\\nlines\"\r\n}".into(), ..record(2) };
    store.append(vec![record(1), pretty, record(3)], None).await.unwrap();

    assert_eq!(
        export(&store, ..).1,
        r#"{"seq":1,"at":1,"kind":"session.queued","version":1,"scope":"ses_1","body":{"n":1}}
{"seq":2,"at":2,"kind":"session.queued","version":1,"scope":"ses_2","body":{   "text": "two\nlines"  }}
{"seq":3,"at":3,"kind":"session.queued","version":1,"scope":"ses_0","body":{"n":3}}
"#
    );
}

#[tokio::test]
async fn a_range_can_be_asked_for() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=1000), None).await.unwrap();
    assert_eq!(export(&store, ..).0.events, 1000);
    assert_eq!(export(&store, 1..).0.events, 1000);
    assert_eq!(export(&store, 0..=256).0.events, 256);
    assert_eq!(export(&store, 10..20).0.events, 10);
    assert_eq!(export(&store, 990..=2000).0.events, 11);
    assert_eq!(export(&store, 1001..).0.events, 0);
}

#[tokio::test]
async fn a_range_that_was_pruned_is_an_error() {
    let dir = pruned().await;
    let store = Store::open_read_only(&dir).unwrap();
    assert_eq!(export(&store, ..).0.events, 92);
    let err = store.export(&mut io::sink(), 5..).unwrap_err();
    assert!(matches!(err, ExportError::Store(StoreError::Pruned { first_kept: 9 })), "{err}");
}

#[tokio::test]
async fn a_body_that_is_not_json_is_left_out_and_counted() {
    let dir = DataDir::new();
    let store = dir.open();
    let broken = NewRecord { body: "{\"n\":\n\"".into(), ..record(2) };
    store.append(vec![record(1), broken, record(3)], None).await.unwrap();
    let (exported, text) = export(&store, ..);
    assert_eq!((exported.events, exported.unreadable, text.lines().count()), (2, 1, 2));
    assert_eq!(exported.first_unreadable.unwrap().0, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_while_the_daemon_writes_ends_and_has_no_gap() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=3000), None).await.unwrap();
    let tool = Store::open_read_only(&dir).unwrap();
    let mut exporting = tokio::task::spawn_blocking(move || export(&tool, ..));
    let (exported, text) = loop {
        tokio::select! {
            done = &mut exporting => break done.unwrap(),
            appended = store.append(records([1]), None) => { appended.unwrap(); }
        }
    };
    assert!(exported.events >= 3000, "{exported:?}");
    for (index, line) in text.lines().enumerate() {
        assert!(line.starts_with(&format!(r#"{{"seq":{},"#, index + 1)), "{line}");
    }
}

#[tokio::test]
async fn a_closed_pipe_ends_the_export() {
    struct ClosedPipe;
    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1]), None).await.unwrap();
    let err = store.export(&mut ClosedPipe, ..).unwrap_err();
    assert!(matches!(&err, ExportError::Write(err) if err.kind() == io::ErrorKind::BrokenPipe), "{err}");
}

#[tokio::test]
async fn an_import_makes_the_same_log_again() {
    let dir = pruned().await;
    let (_, text) = export(&Store::open_read_only(&dir).unwrap(), ..);

    let other = DataDir::new();
    assert_eq!(import(&other, &mut text.as_bytes()).unwrap(), 92);

    let store = other.open();
    assert_eq!(export(&store, ..).1, text);
    assert!(store.check().unwrap().is_ok());
    assert!(matches!(store.read(0, 1).await, Err(StoreError::Pruned { first_kept: 9 })));
    assert_eq!(store.append(records([101]), Some(100)).await.unwrap(), 101);
}

#[tokio::test]
async fn an_import_that_fails_leaves_no_log() {
    let dir = DataDir::new();
    let source = dir.open();
    source.append(records(1..=3), None).await.unwrap();
    let (_, text) = export(&source, ..);
    let lines: Vec<&str> = text.lines().collect();
    let cases = [
        (format!("{}\nnonsense\n", lines[0]), "line 2 of the export is not an event and not a document"),
        (format!("{}\n{}\n", lines[0], lines[2]), "line 2 of the export has event 3, where 2 was expected"),
        (
            lines[0].replace(r#""seq":1"#, r#""seq":0"#),
            "line 1 of the export has event 0, where 1 was expected",
        ),
        (lines[0].replace("version", "vision"), "line 1 of the export is not an event and not a document"),
    ];
    for (text, words) in cases {
        let other = DataDir::new();
        let err = import(&other, &mut text.as_bytes()).unwrap_err().to_string();
        assert!(err.contains(words), "{err}");
        let left: Vec<_> =
            other.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
        assert_eq!(left, ["ao.lock"]);
    }
}

#[tokio::test]
async fn an_import_into_a_log_is_refused() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records([1]), None).await.unwrap();
    let (_, text) = export(&store, ..);
    let busy = import(&dir, &mut text.as_bytes()).unwrap_err().to_string();
    assert!(busy.contains("already uses"), "{busy}");
    drop(store);
    let taken = import(&dir, &mut text.as_bytes()).unwrap_err().to_string();
    assert!(taken.contains("import into an empty data directory"), "{taken}");
}

fn export(store: &Store, range: impl std::ops::RangeBounds<u64>) -> (ExportReport, String) {
    let mut out = Vec::new();
    let exported = store.export(&mut out, range).unwrap();
    (exported, String::from_utf8(out).unwrap())
}

/// A log of events 9 to 100.
async fn pruned() -> DataDir {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=100), None).await.unwrap();
    store.save_snapshot(snapshot(8)).await.unwrap();
    store.save_snapshot(snapshot(50)).await.unwrap();
    store.prune(Retention { before: Timestamp(1000) }).await.unwrap();
    dir
}
