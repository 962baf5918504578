//! One daemon per data directory.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;

use ao_ports::StoreError;
use ao_store::{Options, Store};

use crate::child;
use crate::support::DataDir;

#[test]
fn a_second_daemon_gets_the_pid_of_the_first() {
    let dir = DataDir::new();
    let _first = dir.open();

    let err = Store::open(&dir, Options::default()).unwrap_err();
    let StoreError::Locked { path, holder } = &err else { panic!("{err}") };
    assert_eq!((path.as_str(), holder), (dir.as_str(), &format!("pid {}", std::process::id())));

    let said = child::all_said(child::command("open", &dir));
    assert_eq!(said, [err.to_string()]);
}

#[test]
fn the_lock_of_another_process_ends_with_it() {
    let dir = DataDir::new();
    let mut holder = child::command("hold", &dir).spawn().unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| child::said(&line.unwrap()) == Some("holding")));

    let err = Store::open(&dir, Options::default()).unwrap_err();
    assert!(err.to_string().contains(&format!("(pid {})", holder.id())), "{err}");

    holder.kill().unwrap();
    holder.wait().unwrap();
    dir.open();
}

#[test]
fn a_lock_file_without_a_readable_pid_is_no_trouble() {
    let dir = DataDir::new();
    let _first = dir.open();
    std::fs::write(dir.join("ao.lock"), b"\xff\xfe no pid at all, and rather long").unwrap();
    let err = Store::open(&dir, Options::default()).unwrap_err();
    assert!(matches!(&err, StoreError::Locked { holder, .. } if holder == "pid unknown"), "{err}");
}

#[tokio::test]
async fn everything_is_private_to_the_user() {
    let dir = DataDir::new();
    let store = dir.open();
    ao_ports::EventStore::append(&store, crate::support::records([1]), None).await.unwrap();

    let mode = |path: &camino::Utf8Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for file in ["ao.db", "ao.db-wal", "ao.db-shm", "ao.lock"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}
