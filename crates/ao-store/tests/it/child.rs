//! Other processes: this test binary once more, playing a role.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use ao_ports::{EventStore, RecordChange, Records, StoreError};
use ao_store::{Options, Store};
use camino::Utf8Path;

use crate::support::{block_on, record};

/// A command that plays a role on a data directory. What it has to say are the lines of its stdout behind a `>`,
/// because the test harness prints there too.
pub(crate) fn command(role: &str, dir: &Utf8Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    play(&mut command, role, dir);
    command
}

/// Selects the role that a child of this test binary plays.
pub(crate) fn play(command: &mut Command, role: &str, dir: &Utf8Path) {
    command
        .args(["child::plays_its_role", "--exact", "--nocapture"])
        .env("AO_STORE_ROLE", role)
        .env("AO_STORE_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
}

/// Returns the text that a child printed in this line of its stdout, if any.
pub(crate) fn said(line: &str) -> Option<&str> {
    // The first one stands behind the `test child::… ` of the harness.
    line.split_once('>').map(|(_, said)| said.trim())
}

/// Runs a command to its end and returns everything it said.
pub(crate) fn all_said(mut command: Command) -> Vec<String> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().filter_map(said).map(str::to_owned).collect()
}

fn say(words: impl std::fmt::Display) {
    let mut out = io::stdout().lock();
    writeln!(out, ">{words}").unwrap();
    out.flush().unwrap();
}

#[test]
fn plays_its_role() {
    // Run as a test among others there is no role, and nothing to do.
    let Ok(role) = std::env::var("AO_STORE_ROLE") else {
        return;
    };
    let dir = std::env::var("AO_STORE_DIR").unwrap();
    let dir = Utf8Path::new(&dir);
    match role.as_str() {
        "open" => match Store::open(dir, Options::default()) {
            Ok(_) => say("opened"),
            Err(err) => say(err),
        },
        "hold" => {
            let _store = Store::open(dir, Options::default()).unwrap();
            say("holding");
            // Until the parent lets go of the other end.
            io::stdin().read_line(&mut String::new()).unwrap();
        }
        "append" => block_on(append_for_ever(dir)),
        "keep" => block_on(change_for_ever(dir)),
        "fill" => block_on(fill_and_make_room(dir)),
        other => panic!("no such role: {other}"),
    }
}

/// Several producers append, and every position is said as soon as it was answered.
async fn append_for_ever(dir: &Utf8Path) {
    let store = Store::open(dir, Options::default()).unwrap();
    let mut producers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = store.clone();
        producers.spawn(async move {
            loop {
                say(store.append(vec![record(7)], None).await.unwrap());
            }
        });
    }
    producers.join_next().await;
}

/// Several producers each count in a pair of documents, and every number is said as soon as it was answered.
async fn change_for_ever(dir: &Utf8Path) {
    let store = Store::open(dir, Options::default()).unwrap();
    let mut producers = tokio::task::JoinSet::new();
    for producer in 0..4 {
        let store = store.clone();
        producers.spawn(async move {
            let count = store.get("count", &producer.to_string()).await.unwrap();
            let mut n: u64 = count.map_or(0, |count| count.parse().unwrap());
            loop {
                n += 1;
                let pair = |shelf| RecordChange::put(shelf, producer.to_string(), n.to_string());
                store.change(vec![pair("count"), pair("double")]).await.unwrap();
                store.append(vec![record(7)], None).await.unwrap();
                say(format_args!("{producer} {n}"));
            }
        });
    }
    producers.join_next().await;
}

/// Appends until the disk is full, removes a file that took much of the room, and goes on.
async fn fill_and_make_room(dir: &Utf8Path) {
    let ballast = dir.parent().unwrap().join("ballast");
    std::fs::write(&ballast, vec![0; 512 * 1024]).unwrap();
    let store = Store::open(dir, Options::default()).unwrap();
    let mut large = record(1);
    large.body = format!(r#""{}""#, "x".repeat(8 * 1024));
    let mut last = 0;
    loop {
        match store.append(vec![large.clone()], None).await {
            Ok(seq) => last = seq,
            Err(StoreError::Full { .. }) => break,
            Err(err) => panic!("{err}"),
        }
    }
    say("full");
    assert_eq!(store.last_seq().await.unwrap(), last);
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(store.append(vec![large], Some(last)).await.unwrap(), last + 1);
    assert!(store.check().unwrap().is_ok());
    store.close().await.unwrap();
    say("went on");
}
