//! Logs written by every version that was released must open for ever.
//!
//! `tests/fixtures/<version>.db` is a log as that version left it, `<version>.ndjson` what is in it. A release that
//! changes the file adds a pair; none is ever changed. A new pair is written by running this test with
//! `AO_STORE_WRITE_FIXTURE=<version>`.

use std::fs;

use ao_core::Timestamp;
use ao_ports::{EventStore, NewRecord};
use ao_store::{Retention, Store};
use camino::Utf8PathBuf;

use crate::support::{DataDir, records, snapshot};

#[tokio::test]
async fn a_log_of_each_released_version_opens_and_goes_on() {
    if let Ok(version) = std::env::var("AO_STORE_WRITE_FIXTURE") {
        write(&version).await;
    }
    let mut seen = 0;
    for entry in fixtures().read_dir_utf8().unwrap() {
        let fixture = entry.unwrap().into_path();
        if fixture.extension() != Some("db") {
            continue;
        }
        seen += 1;
        let dir = DataDir::new();
        fs::create_dir(&*dir).unwrap();
        fs::copy(&fixture, dir.log()).unwrap();
        let store = dir.open();

        assert_eq!(
            export(&store),
            fs::read_to_string(fixture.with_extension("ndjson")).unwrap(),
            "{fixture}"
        );
        assert!(store.check().unwrap().is_ok(), "{fixture}");
        assert_eq!(store.latest_snapshot().await.unwrap(), Some(snapshot(20)), "{fixture}");
        let last = store.last_seq().await.unwrap();
        assert_eq!(store.append(records([1]), Some(last)).await.unwrap(), last + 1, "{fixture}");
    }
    assert!(seen > 0, "there are no fixtures in {}", fixtures());
}

async fn write(version: &str) {
    let dir = DataDir::new();
    let store = dir.open();
    let odd = NewRecord {
        at: Timestamp(-1),
        kind: "note.added".into(),
        version: u16::MAX,
        scope: String::new(),
        body: r#"{"text":"Grüße, \"quoted\"\n👋","none":null,"big":18446744073709551615}"#.into(),
    };
    store.append(records(1..=24), None).await.unwrap();
    store.append(vec![odd], None).await.unwrap();
    store.save_snapshot(snapshot(10)).await.unwrap();
    store.save_snapshot(snapshot(20)).await.unwrap();
    store.prune(Retention { before: Timestamp(6) }).await.unwrap();
    let (db, text) = (fixtures().join(format!("{version}.db")), fixtures().join(format!("{version}.ndjson")));
    assert!(!db.exists() && !text.exists(), "{version} has its fixture already");
    fs::write(text, export(&store)).unwrap();
    store.close().await.unwrap();
    fs::copy(dir.log(), db).unwrap();
}

fn fixtures() -> Utf8PathBuf {
    Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn export(store: &Store) -> String {
    let mut out = Vec::new();
    store.export(&mut out, ..).unwrap();
    String::from_utf8(out).unwrap()
}
