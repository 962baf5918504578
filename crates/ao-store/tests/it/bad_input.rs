//! Files and directories that are not what they should be: each is named, explained, and left as it was.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use ao_ports::{EventStore, StoreError};
use ao_store::{Options, Store};
use rusqlite::Connection;

use crate::child;
use crate::support::{DataDir, block_on, records};

#[test]
fn a_file_that_is_no_database_is_damaged_and_stays() {
    for content in [&b"my notes, which I would like to keep\n"[..], b"", b"SQLite format 3\0"] {
        let dir = DataDir::new();
        fs::create_dir(&*dir).unwrap();
        fs::write(dir.log(), content).unwrap();
        refused(&dir, |err| matches!(err, StoreError::Damaged { .. }), "is damaged");
    }
}

#[test]
fn the_database_of_another_program_is_not_taken_over() {
    let dir = DataDir::new();
    fs::create_dir(&*dir).unwrap();
    dir.foreign().execute_batch("CREATE TABLE bookmarks (url); INSERT INTO bookmarks VALUES ('x')").unwrap();
    refused(&dir, |err| matches!(err, StoreError::Foreign { .. }), "is not an ao event log");
}

#[test]
fn a_truncated_log_is_damaged_and_stays() {
    let dir = with_events(500);
    let whole = fs::read(dir.log()).unwrap();
    for length in [50, 100, 4096, 3 * 4096, whole.len() - 4096] {
        fs::write(dir.log(), &whole[..length]).unwrap();
        refused(&dir, |err| matches!(err, StoreError::Damaged { .. }), "restore a backup");
    }
    // With only a part of a page missing SQLite sees no fault, so a tool may still save what there is.
    fs::write(dir.log(), &whole[..whole.len() - 100]).unwrap();
    let err = Store::open(&dir, Options::default()).unwrap_err();
    assert!(err.to_string().contains("100 bytes are missing at its end"), "{err}");
    assert_eq!(dir.log().metadata().unwrap().len(), whole.len() as u64 - 100);
    Store::open_read_only(&dir).unwrap();

    fs::write(dir.log(), &whole).unwrap();
    assert_eq!(block_on(dir.open().last_seq()).unwrap(), 500);
}

#[test]
fn a_log_whose_file_is_gone_but_not_its_wal_is_not_started_anew() {
    let dir = DataDir::new();
    fs::create_dir(&*dir).unwrap();
    fs::write(dir.join("ao.db-wal"), b"the last events").unwrap();
    let err = Store::open(&dir, Options::default()).unwrap_err();
    assert!(err.to_string().contains("the file is missing, but"), "{err}");
    assert!(!dir.log().exists());
    assert_eq!(fs::read(dir.join("ao.db-wal")).unwrap(), b"the last events");
}

#[test]
fn a_log_with_a_change_we_do_not_know_is_newer_and_stays() {
    let dir = with_events(10);
    let newer = dir.foreign();
    newer.execute("INSERT INTO migrations VALUES ('fold-events-into-crystals', 0)", []).unwrap();
    newer.close().unwrap();
    refused(
        &dir,
        |err| matches!(err, StoreError::Newer { .. }),
        "written by a newer ao (change `fold-events-into-crystals`)",
    );
}

#[test]
fn a_log_with_a_layout_we_do_not_know_is_newer_and_stays() {
    let dir = with_events(10);
    let newer = dir.foreign();
    newer.execute_batch("PRAGMA user_version = 2; DROP TABLE migrations").unwrap();
    newer.close().unwrap();
    refused(&dir, |err| matches!(err, StoreError::Newer { .. }), "layout 2; this version knows 1");
}

#[test]
fn a_newer_log_keeps_even_the_wal_of_its_killed_daemon() {
    let dir = with_events(10);
    let newer = dir.foreign();
    newer.execute("INSERT INTO migrations VALUES ('from-the-future', 0)", []).unwrap();
    let (file, wal) = (fs::read(dir.log()).unwrap(), fs::read(dir.join("ao.db-wal")).unwrap());
    newer.close().unwrap();
    fs::write(dir.log(), &file).unwrap();
    fs::write(dir.join("ao.db-wal"), &wal).unwrap();

    refused(&dir, |err| matches!(err, StoreError::Newer { .. }), "from-the-future");
    assert_eq!(fs::read(dir.join("ao.db-wal")).unwrap(), wal);
}

#[test]
fn a_log_of_ours_without_its_tables_is_damaged() {
    let dir = with_events(10);
    let vandal = dir.foreign();
    vandal.execute_batch("DROP TABLE migrations").unwrap();
    vandal.close().unwrap();
    refused(&dir, |err| matches!(err, StoreError::Damaged { .. }), "no such table: migrations");
}

#[test]
fn a_crash_while_the_log_was_made_leaves_nothing_in_the_way() {
    let dir = DataDir::new();
    fs::create_dir(&*dir).unwrap();
    fs::write(dir.join("ao.db.new"), b"half a").unwrap();
    dir.open();
    assert!(!dir.join("ao.db.new").exists());
}

#[test]
fn a_missing_log_is_not_made_by_a_tool_that_only_reads() {
    let dir = DataDir::new();
    let err = Store::open_read_only(&dir).unwrap_err();
    assert!(err.to_string().contains("could not read the log: No such file"), "{err}");
    assert!(!dir.exists());
}

#[test]
fn a_data_directory_that_is_a_file_is_named() {
    let dir = DataDir::new();
    fs::write(&*dir, "not a directory").unwrap();
    let err = Store::open(&dir, Options::default()).unwrap_err().to_string();
    assert!(err.contains(dir.as_str()) && err.contains("could not create the data directory"), "{err}");
}

#[test]
fn a_read_only_directory_is_named_with_what_to_do() {
    let dir = with_events(1);
    let said = as_another_user(&dir, 0o555);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(dir.as_str()), "{said:?}");
    assert!(said[0].contains("Make it writable for you, or choose another data directory"), "{said:?}");
}

/// Opens the log in a process that may do with its directory only what `mode` lets it.
///
/// Permissions do not bind root, so if root runs the tests, the process switches to another user.
fn as_another_user(dir: &DataDir, mode: u32) -> Vec<String> {
    let chmod = |path: &str, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let is_root = dir.metadata().unwrap().uid() == 0;
    let binary = dir.beside("test-binary");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    let mut command = Command::new(&binary);
    child::play(&mut command, "open", dir);
    if is_root {
        chmod(dir.beside("").as_str(), 0o755);
        command.uid(65534).gid(65534).current_dir("/");
    }
    chmod(dir.as_str(), mode);
    let said = child::all_said(command);
    chmod(dir.as_str(), 0o700);
    said
}

/// Makes sure that the log is refused, for writing and for reading, and not a byte of it is changed.
fn refused(dir: &DataDir, is_expected: impl Fn(&StoreError) -> bool, words: &str) {
    let before = fs::read(dir.log()).unwrap();
    let errors = [
        Store::open(dir, Options::default()).expect_err("should be refused"),
        Store::open_read_only(dir).expect_err("should be refused"),
    ];
    for err in errors {
        let message = err.to_string();
        assert!(is_expected(&err), "{message}");
        assert!(message.contains(words) && message.contains(dir.log().as_str()), "{message}");
    }
    assert!(fs::read(dir.log()).unwrap() == before, "the file was changed");
}

fn with_events(count: u64) -> DataDir {
    let dir = DataDir::new();
    let store = dir.open();
    block_on(store.append(records(1..=count), None)).unwrap();
    drop(store);
    // One connection more, to see that the file alone is the log.
    Connection::open(dir.log()).unwrap();
    assert!(!dir.join("ao.db-wal").exists());
    dir
}
