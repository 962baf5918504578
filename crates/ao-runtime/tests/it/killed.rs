//! A daemon that is killed outright, as another process, so that the system closes all it had open.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use ao_core::SessionId;
use ao_core::input::ProcessLife;
use ao_ports::{ProcessRef, Runtime, WriteOrder};

use crate::support::{Bench, lives};

/// Set for the process that plays the daemon, to the folder and the session.
const PLAY: &str = "PLAY_A_DAEMON_IN";

/// The daemon's part: starts a process and waits to be killed. As a test of its own it does nothing.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the other process waits for this line")]
async fn daemon() {
    let Ok(part) = std::env::var(PLAY) else { return };
    let (dir, session) = part.split_once('|').unwrap();
    let bench = Bench::at(dir.as_ref(), session.parse().unwrap());
    bench.start("echo up; while read line; do echo heard $line; done").await;
    println!("started");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_agent_outlives_its_daemon_and_talks_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let session: SessionId = Bench::new().session;
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args(["killed::daemon", "--exact", "--nocapture"])
        .env(PLAY, format!("{}|{session}", dir.path().display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(daemon.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().ends_with("started")));
    daemon.kill().unwrap();
    daemon.wait().unwrap();

    let mut bench = Bench::at(dir.path(), session);
    let process = ProcessRef::new("process", format!("{session}/1"));
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Alive { busy: false });
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"you\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    assert_eq!(bench.until(&process, |output| output.contains("you")).await, "up\nheard you\n");

    let record = std::fs::read(dir.path().join(format!("state/{session}/1/record"))).unwrap();
    let pid = serde_json::from_slice::<serde_json::Value>(&record).unwrap()["pid"].to_string();
    assert!(lives(&pid));
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(!lives(&pid));
    assert_eq!(bench.exit().await, None);
}
