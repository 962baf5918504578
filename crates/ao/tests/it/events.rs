//! The event log from outside.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
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
    hint: name the directory with `--data-dir` or AO_DATA_DIR; ao creates the log when it first runs
    ");
    assert_snapshot!(home.run(&["events", "export", "--data-dir", "nowhere"]), @r"
    exit 1
    -- stderr --
    error: there is no event log in `[home]/nowhere`
    hint: name the directory with `--data-dir` or AO_DATA_DIR; ao creates the log when it first runs
    ");
    let told = home.told(&home.ao(&["events", "check"]).env("AO_DATA_DIR", "elsewhere").output().unwrap());
    assert!(told.contains("there is no event log in `[home]/elsewhere`"), "{told}");
    let told =
        home.told(&home.ao(&["events", "check"]).env("XDG_DATA_HOME", "/nonexistent").output().unwrap());
    assert!(told.contains("there is no event log in `/nonexistent/ao`"), "{told}");
    let told = home.told(&home.ao(&["events", "check"]).env_remove("HOME").output().unwrap());
    assert_snapshot!(told, @r"
    exit 2
    -- stderr --
    error: the data directory is unknown: HOME is not set
    hint: set AO_DATA_DIR, or pass `--data-dir`
    ");
    assert!(!home.path().join("nowhere").exists(), "looking makes nothing");
}

/// As in a script whose variable is not set.
#[test]
fn an_empty_data_dir_counts_as_none() {
    let home = Home::new();
    let told = home.told(&home.ao(&["events", "check"]).env("AO_DATA_DIR", "").output().unwrap());
    assert!(told.contains("there is no event log in `[home]/.local/share/ao`"), "{told}");
}

#[test]
fn a_data_dir_that_is_a_file_is_called_so() {
    let home = Home::new();
    fs::write(home.path().join("notes"), "").unwrap();
    assert_snapshot!(home.run(&["events", "check", "--data-dir", "notes"]), @r"
    exit 1
    -- stderr --
    error: `[home]/notes` is not a directory
    hint: name the directory with `--data-dir` or AO_DATA_DIR
    ");
}

#[test]
fn a_data_dir_that_may_not_be_read_is_called_so() {
    let home = Home::new();
    log(&home, 1);
    let dir = home.path().join(".local/share/ao");
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let mut check = home.ao(&["events", "check"]);
    // Permissions do not bind root, so if that is who runs the tests, somebody else looks.
    if dir.metadata().unwrap().uid() == 0 {
        let program = home.path().join("ao-program");
        fs::copy(check.get_program(), &program).unwrap();
        for path in [home.path(), &home.path().join(".local"), &home.path().join(".local/share")] {
            chmod(path, 0o755);
        }
        check = home.ao_at(&program, &["events", "check"]);
        check.uid(65534).gid(65534);
    }
    chmod(&dir, 0o000);
    let told = home.told(&check.output().unwrap());
    chmod(&dir, 0o700);
    assert_snapshot!(told, @r"
    exit 3
    -- stderr --
    error: the event log in `[home]/.local/share/ao` cannot be read: permission denied
    hint: ask its owner, or name the directory with `--data-dir` or AO_DATA_DIR
    ");
}

#[test]
fn the_database_of_another_program_is_not_called_damaged() {
    let home = Home::new();
    log(&home, 1);
    let path = home.path().join(".local/share/ao/ao.db");
    let mut bytes = fs::read(&path).unwrap();
    // Where SQLite keeps the number by which a program knows its own files.
    bytes[68..72].copy_from_slice(b"mine");
    fs::write(&path, &bytes).unwrap();
    assert_snapshot!(home.run(&["events", "export"]), @r"
    exit 3
    -- stderr --
    error: `[home]/.local/share/ao/ao.db` is not an ao event log (it is the database of another program, with application id 0x6d696e65); check which data directory was named
    hint: choose another directory with `--data-dir` or AO_DATA_DIR; this one was not changed
    ");
    assert!(fs::read(&path).unwrap() == bytes);
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
    hint: `ao events backup --help` describes how to restore a backup
    hint: `ao events check` names what is damaged, and `ao events export` saves what can be read
    ");
    assert_eq!(fs::read_to_string(dir.join("ao.db")).unwrap(), text);
}

#[test]
fn an_empty_log_exports_nothing_and_has_no_faults() {
    let home = Home::new();
    log(&home, 0);
    assert_snapshot!(home.run(&["events", "export"]), @r"
    exit 0
    -- stderr --
    note: the event log in `[home]/.local/share/ao` has no events yet
    ");
    assert_snapshot!(home.run(&["events", "check"]), @r"
    exit 0
    -- stdout --
    [home]/.local/share/ao: no faults found; no events yet, 0 snapshots
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
    [home]/.local/share/ao: no faults found; 3 events, 1 to 3, 0 snapshots
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
    copy/ao.db: 3 events copied from `[home]/.local/share/ao`, no faults found
    ");
    let exported = home.run(&["events", "export"]);
    assert_eq!(home.run(&["events", "export", "--data-dir", "copy"]), exported);
    assert_snapshot!(home.run(&["events", "backup", "copy/ao.db"]), @r"
    exit 1
    -- stderr --
    error: `copy/ao.db` already exists and was not changed
    hint: choose another name for the backup
    ");
}

#[test]
fn a_range_with_nothing_in_it_is_told_from_one_that_cannot_be() {
    let home = Home::new();
    log(&home, 3);
    assert_snapshot!(home.run(&["events", "export", "--from", "4"]), @r"
    exit 0
    -- stderr --
    note: the event log in `[home]/.local/share/ao` has no events in this range
    ");
    assert_snapshot!(home.run(&["events", "export", "--from", "5", "--to", "2"]), @r"
    exit 1
    -- stderr --
    error: the range 5 to 2 is empty: the first number is higher than the last
    hint: swap the two numbers
    ");
}

#[test]
fn a_backup_of_a_log_with_a_fault_says_so() {
    let home = Home::new();
    log(&home, 1);
    let path = home.path().join(".local/share/ao/ao.db");
    let mut bytes = fs::read(&path).unwrap();
    let body = br#"{"memory_enough":"#;
    let at = bytes.windows(body.len()).position(|found| found == body).unwrap();
    bytes[at] = b'!';
    fs::write(&path, bytes).unwrap();
    assert_snapshot!(home.run(&["events", "check"]), @r"
    exit 3
    -- stdout --
    event 1 is not JSON: expected value at line 1 column 1
    -- stderr --
    error: the event log in `[home]/.local/share/ao` has 1 fault
    hint: `ao events export` saves what can be read
    hint: `ao events backup --help` describes how to restore a backup
    ");
    assert_snapshot!(home.run(&["events", "backup", "copy.db"]), @r"
    exit 3
    -- stdout --
    copy.db: copied, with 1 fault
    -- stderr --
    error: the event log in `[home]/.local/share/ao` has 1 fault, and so has its backup
    hint: `ao events check` names them
    ");
    assert!(home.path().join("copy.db").exists());
}

#[test]
fn a_name_that_no_backup_can_have_is_refused() {
    let home = Home::new();
    log(&home, 1);
    std::os::unix::fs::symlink("nothing", home.path().join("dangling")).unwrap();
    fs::write(home.path().join("notes"), "").unwrap();
    let refused = |file: &str| {
        let told = home.run(&["events", "backup", file]);
        assert!(told.starts_with("exit 1"), "{told}");
        told.lines().find_map(|line| line.strip_prefix("error: ")).unwrap().to_owned()
    };
    assert_eq!(refused(""), "the name of the backup is empty");
    assert_eq!(refused("dangling"), "`dangling` already exists and was not changed");
    assert_eq!(refused("nodir/ao.db"), "the directory `nodir` does not exist; make it first");
    assert_eq!(refused("notes/ao.db"), "`notes` is not a directory");
    assert!(!home.path().join("nothing").exists());
}

#[test]
fn a_full_disk_behind_stdout_is_told() {
    let home = Home::new();
    log(&home, 3);
    for command in ["export", "check"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let told = home.told(&home.ao(&["events", command]).stdout(full).output().unwrap());
        assert!(told.starts_with("exit 3"), "{told}");
        assert!(told.contains("error: could not write to stdout: No space left on device"), "{told}");
    }
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

#[test]
fn prune_lets_go_of_old_events_that_two_snapshots_cover_and_of_nothing_else() {
    let home = Home::new();
    log(&home, 20);
    let prune = ["events", "prune", "--older-than-days", "30"];
    assert!(home.run(&prune).contains("0 events removed"), "no snapshot covers them");
    let dir = home.path().join(".local/share/ao");
    let dir = Utf8Path::from_path(&dir).unwrap();
    let snapshots = [5, 15].map(|seq| ao_ports::Snapshot { seq, format: 1, body: b"{}".to_vec() });
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let store = Store::open(dir, Options::default()).unwrap();
        for snapshot in snapshots {
            store.save_snapshot(snapshot).await.unwrap();
        }
        // While somebody uses the log, nothing is removed from it.
        let told = home.run(&prune);
        assert!(told.starts_with("exit ") && told.contains("already uses"), "{told}");
        store.close().await.unwrap();
    });
    assert!(home.run(&prune).contains("5 events removed"));
    assert!(home.run(&prune).contains("0 events removed"));
    let told = home.run(&["events", "export", "--from", "6"]);
    assert_eq!(told.lines().filter(|line| line.contains("memory_enough")).count(), 15, "{told}");
}
