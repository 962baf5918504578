//! The check, and the backup that passes it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ao_ports::{EventStore, StoreError};
use ao_store::{CheckReport, Options, Store};

use crate::support::{DataDir, numbers, records, snapshot};

#[tokio::test]
async fn a_sound_log_has_no_problems() {
    let dir = DataDir::new();
    let store = dir.open();
    assert_eq!(store.check().unwrap(), CheckReport::default());
    store.append(records(1..=100), None).await.unwrap();
    store.save_snapshot(snapshot(50)).await.unwrap();
    let expected = CheckReport { events: 100, first: 1, last: 100, snapshots: 1, ..CheckReport::default() };
    assert_eq!(store.check().unwrap(), expected);
}

#[tokio::test]
async fn each_problem_is_reported() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=20), None).await.unwrap();
    store.save_snapshot(snapshot(10)).await.unwrap();
    dir.foreign()
        .execute_batch(
            "DELETE FROM events WHERE seq IN (5, 7, 8, 19, 20);
             UPDATE events SET body = '{\"n\":' WHERE seq = 12;
             UPDATE snapshots SET checksum = 1;
             INSERT INTO snapshots VALUES (20, 1, 1, x'00')",
        )
        .unwrap();

    assert_eq!(
        store.check().unwrap().problems,
        [
            "event 5 is missing",
            "events 7 to 8 are missing",
            "event 12 is not JSON: EOF while parsing a value at line 1 column 5",
            "snapshot 20 cannot be used: its checksum does not match",
            "snapshot 20 lies behind the last event, 18",
            "snapshot 10 cannot be used: its checksum does not match",
        ]
    );
}

#[tokio::test]
async fn a_broken_page_is_found_and_the_rest_can_be_exported() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=2000), None).await.unwrap();
    drop(store);
    break_a_page(&dir);

    let broken = fs::read(dir.log()).unwrap();
    let refused = Store::open(&dir, Options::default()).expect_err("nothing may be written to it");
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert_eq!(fs::read(dir.log()).unwrap(), broken, "it stays as it is");
    let store = Store::open_read_only(&dir).unwrap();
    let report = store.check().unwrap();
    assert!(!report.is_ok() && report.damage.is_some());

    let mut out = Vec::new();
    let exported = store.export(&mut out, ..).unwrap();
    assert!(exported.unreadable > 0 && exported.events > 1000, "{exported:?}");
    assert_eq!(exported.events + exported.unreadable, 2000);
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count() as u64, exported.events);
    let refused = store.backup(&dir.beside("copy.db")).expect_err("a backup of it would be no backup");
    assert!(refused.to_string().contains(dir.log().as_str()), "{refused}");
    assert!(!dir.beside("copy.db").exists() && !dir.beside("copy.db.partial").exists());
}

/// A fault that only the full check finds: a marked log is checked in full, and no longer once it is intact again.
#[tokio::test]
async fn a_log_under_suspicion_is_looked_at_in_full() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=2000), None).await.unwrap();
    store.close().await.unwrap();
    let whole = fs::read(dir.log()).unwrap();
    // The index does not know of a change, which the quick look does not compare.
    let index = "FROM sqlite_schema WHERE name = 'events_by_scope'";
    let (page, sql): (i64, String) = dir
        .foreign()
        .query_row(&format!("SELECT rootpage, sql {index}"), [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    dir.foreign().execute_batch(&format!("PRAGMA writable_schema = ON; DELETE {index}")).unwrap();
    dir.foreign().execute_batch("UPDATE events SET scope = 'another' WHERE seq = 5").unwrap();
    let back = format!(
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema VALUES ('index', 'events_by_scope', 'events', {page}, '{sql}')"
    );
    dir.foreign().execute_batch(&back).unwrap();
    let store = dir.open();
    assert!(store.check().unwrap().damage.is_some());
    store.suspect().unwrap();
    store.close().await.unwrap();
    let refused = Store::open(&dir, Options::default()).expect_err("it was found to be damaged");
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");

    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", dir.log()));
    }
    fs::write(dir.log(), &whole).unwrap();
    dir.open().close().await.unwrap();
    assert!(!fs::exists(format!("{}-suspect", dir.log())).unwrap());
}

#[tokio::test]
async fn a_wal_that_is_none_is_not_written_over() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=20), None).await.unwrap();
    store.close().await.unwrap();
    let wal = format!("{}-wal", dir.log());
    fs::write(&wal, [0xAA; 5000]).unwrap();
    let refused = Store::open(&dir, Options::default()).expect_err("the last events may be in it");
    assert!(refused.to_string().contains("ao.db-wal"), "{refused}");
    assert_eq!(fs::read(&wal).unwrap(), [0xAA; 5000]);
    fs::write(&wal, [0; 5000]).unwrap();
    dir.open().close().await.unwrap();
}

#[tokio::test]
async fn a_backup_is_one_private_file_that_can_take_the_place_of_the_log() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=1000), None).await.unwrap();
    store.save_snapshot(snapshot(500)).await.unwrap();
    let copy = dir.beside("copy.db");

    assert!(store.backup(&copy).unwrap().is_ok());
    store.append(records([1001]), None).await.unwrap();

    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let restored = DataDir::new();
    fs::create_dir(&*restored).unwrap();
    fs::copy(&copy, restored.log()).unwrap();
    let restored = restored.open();
    assert_eq!(numbers(&restored).await, (1..=1000).collect::<Vec<_>>());
    assert_eq!(restored.latest_snapshot().await.unwrap(), Some(snapshot(500)));
    assert_eq!(restored.append(records([7]), None).await.unwrap(), 1001);
}

/// One odd event is no reason to have no copy of the rest.
#[tokio::test]
async fn a_backup_of_a_log_with_faults_is_made_and_tells_them() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=5), None).await.unwrap();
    dir.foreign().execute_batch("DELETE FROM events WHERE seq = 3").unwrap();
    let copied = store.backup(&dir.beside("copy.db")).unwrap();
    assert_eq!(copied, store.check().unwrap());
    assert_eq!(copied.problems, ["event 3 is missing"]);
    assert!(dir.beside("copy.db").exists());
}

#[tokio::test]
async fn a_backup_overwrites_nothing() {
    let dir = DataDir::new();
    let store = dir.open();
    let taken = dir.beside("taken");
    fs::write(&taken, "precious").unwrap();
    let err = store.backup(&taken).unwrap_err().to_string();
    assert!(err.contains("already exists; choose another name"), "{err}");
    assert_eq!(fs::read_to_string(&taken).unwrap(), "precious");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_appends_is_some_moment_of_the_log() {
    let dir = DataDir::new();
    let store = dir.open();
    store.append(records(1..=5000), None).await.unwrap();
    let (copying, copy) = (store.clone(), dir.beside("copy.db"));
    let mut backup = tokio::task::spawn_blocking(move || copying.backup(&copy));
    let copied = loop {
        tokio::select! {
            done = &mut backup => break done.unwrap().unwrap(),
            appended = store.append(records([1]), None) => { appended.unwrap(); }
        }
    };
    let restored = DataDir::new();
    fs::create_dir(&*restored).unwrap();
    fs::copy(dir.beside("copy.db"), restored.log()).unwrap();
    let report = restored.open().check().unwrap();
    assert!(report.is_ok() && report.events >= 5000, "{report:?}");
    assert_eq!(copied, report);
}

/// Writes nonsense over a leaf in the middle of the file.
fn break_a_page(dir: &DataDir) {
    const PAGE: usize = 4096;
    const TABLE_LEAF: u8 = 13;
    let mut file = fs::read(dir.log()).unwrap();
    let leaf = file.chunks_mut(PAGE).skip(20).find(|page| page[0] == TABLE_LEAF).unwrap();
    leaf.fill(0xAA);
    fs::write(dir.log(), file).unwrap();
}
