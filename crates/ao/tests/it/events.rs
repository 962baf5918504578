//! The event log from outside.

use std::fs;
use std::process::Stdio;

use ao_ports::{EventStore, NewRecord};
use ao_store::{Options, Store};
use camino::Utf8Path;
use insta::assert_snapshot;

use crate::support::Home;

/// A log with so many events, and nobody who uses it.
fn log(home: &Home, count: usize) {
    let dir = home.path().join(".local/share/ao");
    let record = |number: usize| NewRecord {
        at: ao_core::Timestamp(1_700_000_000_000 + number as i64),
        kind: "host.memory_enough".into(),
        version: 1,
        scope: "host".into(),
        body: format!(r#"{{"memory_enough":{{"free_mb":{number}}}}}"#),
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let store = Store::open(Utf8Path::from_path(&dir).unwrap(), Options::default()).unwrap();
        store.append((1..=count).map(record).collect(), None).await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn without_a_log_it_says_where_it_looked_and_what_to_do() {
    let home = Home::new();
    assert_snapshot!(home.run(&["events", "check"]), @r"
    exit 1
    -- stderr --
    error: there is no event log in `[home]/.local/share/ao`
    hint: name the directory with `--data-dir` or AO_DATA_DIR; ao makes the log when it first runs
    ");
    assert_snapshot!(home.run(&["events", "export", "--data-dir", "nowhere"]), @r"
    exit 1
    -- stderr --
    error: there is no event log in `nowhere`
    hint: name the directory with `--data-dir` or AO_DATA_DIR; ao makes the log when it first runs
    ");
    let told = home.told(&home.ao(&["events", "check"]).env("AO_DATA_DIR", "elsewhere").output().unwrap());
    assert!(told.contains("there is no event log in `elsewhere`"), "{told}");
    let told =
        home.told(&home.ao(&["events", "check"]).env("XDG_DATA_HOME", "/nonexistent").output().unwrap());
    assert!(told.contains("there is no event log in `/nonexistent/ao`"), "{told}");
    let told = home.told(&home.ao(&["events", "check"]).env_remove("HOME").output().unwrap());
    assert_snapshot!(told, @r"
    exit 2
    -- stderr --
    error: it is not known where ao keeps its data: HOME is not set
    hint: set AO_DATA_DIR, or give `--data-dir`
    ");
    assert!(!home.path().join("nowhere").exists(), "looking makes nothing");
}

#[test]
fn a_file_that_is_no_log_is_named_and_left_alone() {
    let home = Home::new();
    let dir = home.path().join(".local/share/ao");
    fs::create_dir_all(&dir).unwrap();
    let text = "Dear diary, this is not a database. ".repeat(40);
    fs::write(dir.join("ao.db"), &text).unwrap();
    for command in ["check", "export"] {
        let told = home.run(&["events", command]);
        assert_eq!(told.lines().next(), Some("exit 3"));
        assert!(told.contains("[home]/.local/share/ao/ao.db"), "{told}");
    }
    assert_snapshot!(home.run(&["events", "export"]), @r"
    exit 3
    -- stderr --
    error: the event log `[home]/.local/share/ao/ao.db` is damaged: it is not an SQLite database. Keep the file, and restore a backup
    hint: `ao events backup --help` says how to restore a backup
    ");
    assert_eq!(fs::read_to_string(dir.join("ao.db")).unwrap(), text);
}

#[test]
fn an_empty_log_exports_nothing_and_is_whole() {
    let home = Home::new();
    log(&home, 0);
    assert_snapshot!(home.run(&["events", "export"]), @"exit 0");
    assert_snapshot!(home.run(&["events", "check"]), @r"
    exit 0
    -- stdout --
    [home]/.local/share/ao: whole; no events yet, 0 snapshots
    ");
}

#[test]
fn events_are_lines_of_json_in_order() {
    let home = Home::new();
    log(&home, 3);
    assert_snapshot!(home.run(&["events", "export", "--from", "2"]), @r#"
    exit 0
    -- stdout --
    {"seq":2,"at":1700000000002,"kind":"host.memory_enough","version":1,"scope":"host","body":{"memory_enough":{"free_mb":2}}}
    {"seq":3,"at":1700000000003,"kind":"host.memory_enough","version":1,"scope":"host","body":{"memory_enough":{"free_mb":3}}}
    "#);
    assert_snapshot!(home.run(&["events", "export", "--to", "1"]), @r#"
    exit 0
    -- stdout --
    {"seq":1,"at":1700000000001,"kind":"host.memory_enough","version":1,"scope":"host","body":{"memory_enough":{"free_mb":1}}}
    "#);
    assert_snapshot!(home.run(&["events", "check"]), @r"
    exit 0
    -- stdout --
    [home]/.local/share/ao: whole; 3 events, 1 to 3, 0 snapshots
    ");
}

#[test]
fn a_backup_is_a_log_like_the_first_and_overwrites_nothing() {
    let home = Home::new();
    log(&home, 3);
    fs::create_dir(home.path().join("copy")).unwrap();
    assert_snapshot!(home.run(&["events", "backup", "copy/ao.db"]), @r"
    exit 0
    -- stdout --
    copy/ao.db: a whole copy of the event log in `[home]/.local/share/ao`
    ");
    let exported = home.run(&["events", "export"]);
    assert_eq!(home.run(&["events", "export", "--data-dir", "copy"]), exported);
    assert_snapshot!(home.run(&["events", "backup", "copy/ao.db"]), @r"
    exit 1
    -- stderr --
    error: `copy/ao.db` is already there and is left as it is
    hint: choose another name for the backup
    ");
}

/// `ao events export | head -1`
#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    log(&home, 20_000);
    let mut export =
        home.ao(&["events", "export"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(export.stdout.take());
    let output = export.wait_with_output().unwrap();
    assert_eq!(home.told(&output), "exit 0");
}
