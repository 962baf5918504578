//! Compares the log with bare SQLite, and checks that its start-up time does not grow with history.
//!
//! `cargo bench -p ao-store` prints a table and fails if a limit is passed. Both sides of a comparison use the same
//! schema and settings, run in turns, and are compared by their medians, so that a noisy machine disturbs both alike.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_core::Timestamp;
use ao_ports::{EventStore, NewRecord, Snapshot};
use ao_store::{Options, Store};
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    println!("{:<58} | {:>5} | {:>8} |", "what", "limit", "measured");
    let within = [
        row("one append / one bare commit", 1.3, one_append(&runtime)),
        row("100,000 appends of 1024 producers / bare, 256 a commit", 1.5, many_appends(&runtime)),
        row("start-up with 1,000,000 events / with 100,000", 1.5, start_up(&runtime)),
    ];
    if within.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: f64, (ours, bare): (Duration, Duration)) -> bool {
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let within = ratio <= limit;
    let verdict = if within { "ok" } else { "over" };
    println!("{what:<58} | {limit:>5.2} | {ratio:>8.2} | {verdict} ({ours:.1?} / {bare:.1?})");
    within
}

/// An event appended alone, waited for each time.
fn one_append(runtime: &Runtime) -> (Duration, Duration) {
    const ROUNDS: usize = 40;
    const EACH: u64 = 50;
    let (ours, bare) = (Place::new(), Place::new());
    let store = ours.open();
    let conn = bare.bare();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let mut seq = 0;
    for _ in 0..ROUNDS {
        // Blocks in place of a task, as the engine's loop does: it waits for the answer before it goes on.
        runtime.block_on(async {
            for n in 0..EACH {
                let start = Instant::now();
                store.append(vec![record(n)], None).await.unwrap();
                ours.push(start.elapsed());
            }
        });
        for n in 0..EACH {
            let record = record(n);
            seq += 1;
            let start = Instant::now();
            // A statement outside of a transaction is one, with its own commit.
            insert(&conn, seq, &record);
            bare.push(start.elapsed());
        }
    }
    (median(ours), median(bare))
}

/// Many producers, each waiting for its own append before the next.
fn many_appends(runtime: &Runtime) -> (Duration, Duration) {
    const ROUNDS: usize = 5;
    const EVENTS: u64 = 100_000;
    /// Enough to keep a group waiting while one is committed. Fewer cannot fill a commit of 256, with any committer.
    const PRODUCERS: u64 = 1024;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let place = Place::new();
        let store = place.open();
        let start = Instant::now();
        runtime.block_on(async {
            let mut producers = JoinSet::new();
            for producer in 0..PRODUCERS {
                let store = store.clone();
                producers.spawn(async move {
                    for n in (producer..EVENTS).step_by(PRODUCERS as usize) {
                        store.append(vec![record(n)], None).await.unwrap();
                    }
                });
            }
            while let Some(done) = producers.join_next().await {
                done.unwrap();
            }
        });
        ours.push(start.elapsed());
        assert_eq!(runtime.block_on(store.last_seq()).unwrap(), EVENTS);

        let place = Place::new();
        let conn = place.bare();
        let start = Instant::now();
        for first in (0..EVENTS).step_by(256) {
            conn.execute_batch("BEGIN IMMEDIATE").unwrap();
            for n in first..EVENTS.min(first + 256) {
                insert(&conn, n as i64 + 1, &record(n));
            }
            conn.execute_batch("COMMIT").unwrap();
        }
        bare.push(start.elapsed());
    }
    (median(ours), median(bare))
}

/// The first steps of a daemon: open and check briefly, load the snapshot, read on from there. Ten times the history must
/// cost nothing; compared with an empty log, the time limit of the check would be all that is measured.
fn start_up(runtime: &Runtime) -> (Duration, Duration) {
    const ROUNDS: usize = 51;
    const EVENTS: u64 = 1_000_000;
    /// Events since the last snapshot.
    const TAIL: u64 = 100;
    let log_of = |events: u64| {
        let place = Place::new();
        let store = place.open();
        runtime.block_on(async {
            for first in (0..events).step_by(4000) {
                store.append((first..first + 4000).map(record).collect(), None).await.unwrap();
            }
            let body = vec![7; 16 * 1024];
            store.save_snapshot(Snapshot { seq: events - TAIL, format: 1, body }).await.unwrap();
        });
        place
    };
    let (long, short) = (log_of(EVENTS), log_of(EVENTS / 10));
    let start_up = |place: &Place| {
        let start = Instant::now();
        let store = place.open();
        let read = runtime.block_on(async {
            let snapshot = store.latest_snapshot().await.unwrap();
            store.read(snapshot.map_or(0, |snapshot| snapshot.seq), 1000).await.unwrap()
        });
        let took = start.elapsed();
        assert_eq!(read.len() as u64, TAIL);
        took
    };
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(start_up(&long));
        base.push(start_up(&short));
    }
    (median(ours), median(base))
}

/// A directory that goes away again, on the disk that `TMPDIR` names.
struct Place {
    dir: Utf8PathBuf,
    _root: TempDir,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        Place { dir: Utf8Path::from_path(root.path()).unwrap().to_owned(), _root: root }
    }

    fn open(&self) -> Store {
        Store::open(&self.dir, Options::default()).unwrap()
    }

    /// A bare connection to a log with the same schema and settings.
    fn bare(&self) -> Connection {
        drop(self.open());
        let conn = Connection::open(self.dir.join("ao.db")).unwrap();
        conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216").unwrap();
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        conn
    }
}

fn insert(conn: &Connection, seq: i64, record: &NewRecord) {
    conn.prepare_cached(
        "INSERT INTO events (seq, at, kind, version, scope, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .unwrap()
    .execute((seq, record.at.0, &record.kind, record.version, &record.scope, &record.body))
    .unwrap();
}

/// An event of the usual size: some two hundred bytes, of one of a thousand sessions.
fn record(n: u64) -> NewRecord {
    NewRecord {
        at: Timestamp(1_780_000_000_000 + n as i64),
        kind: "session.state_observed".into(),
        version: 1,
        scope: format!("ses_{:03x}", n % 1000),
        body: format!(
            r#"{{"session":"ses_{:03x}","attempt":{},"state":"working","source":"transcript","confidence":"high","detail":"reading crates/ao-store/src/writer.rs and thinking about it","n":{n}}}"#,
            n % 1000,
            n % 7
        ),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
