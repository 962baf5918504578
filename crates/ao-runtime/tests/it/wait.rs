//! Waiting for output, which always ends.
//!
//! Each process does its part only when the test lets it, once the reader waits. The bound of a wait is far beyond what a
//! test may take, so that a reader who is released only by the bound fails.

use std::time::{Duration, Instant};

use ao_ports::{OutputPart, ProcessRef, Runtime, WriteOrder};
use futures::FutureExt;
use futures::future::join_all;

use crate::support::Bench;

const LONG: Duration = Duration::from_secs(3600);
/// Generous: it only decides how long a failing test takes.
const BOUND: Duration = Duration::from_secs(20);

async fn lets_go(bench: &Bench, process: &ProcessRef, number: u64) {
    let order = WriteOrder { process: process.clone(), number, bytes: b"go\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
}

/// Waits for output, lets the process go, and returns what comes.
async fn released(bench: &Bench, process: &ProcessRef, from: u64) -> OutputPart {
    let mut waiting = Box::pin(bench.runtime.output(process, from, 100, LONG));
    // It has looked and found nothing by then, most likely. If not, less is tested, but nothing fails.
    let looking = tokio::time::timeout(Duration::from_millis(20), &mut waiting).await;
    assert!(looking.is_err(), "nothing was put out yet");
    lets_go(bench, process, from + 1).await;
    tokio::time::timeout(BOUND, waiting).await.expect("it is released in time").unwrap()
}

#[tokio::test]
async fn who_waits_gets_what_is_printed_when_it_is() {
    let bench = Bench::new();
    let process = bench.start("while read line; do printf heard; done").await;
    for round in 0..3 {
        let piece = released(&bench, &process, round * 5).await;
        assert_eq!(piece, OutputPart { from: round * 5, bytes: b"heard".to_vec(), ended: false });
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn who_waits_is_released_by_the_end() {
    let bench = Bench::new();
    let process = bench.start("read line").await;
    assert_eq!(released(&bench, &process, 0).await, OutputPart { from: 0, bytes: vec![], ended: true });
    let again = bench.runtime.output(&process, 0, 100, LONG).await.unwrap();
    assert!(again.ended, "what has ended is not waited for");
}

/// The end of a process of an earlier daemon's is noticed in the same way.
#[tokio::test]
async fn who_waits_after_a_restart_is_released_too() {
    let mut bench = Bench::new();
    let process = bench.start("read line; printf one; read line").await;
    bench.restart();
    assert_eq!(released(&bench, &process, 0).await.bytes, b"one");
    assert_eq!(released(&bench, &process, 3).await, OutputPart { from: 3, bytes: vec![], ended: true });
}

#[tokio::test]
async fn the_last_output_is_read_before_the_end_is_reported() {
    let mut bench = Bench::new();
    let process = bench.start("printf 0123456789").await;
    bench.exit().await;
    let piece = async |from, limit| bench.runtime.output(&process, from, limit, LONG).await.unwrap();
    assert_eq!(piece(0, 4).await, OutputPart { from: 0, bytes: b"0123".to_vec(), ended: false });
    assert_eq!(piece(4, 100).await, OutputPart { from: 4, bytes: b"456789".to_vec(), ended: true });
    assert_eq!(piece(10, 100).await, OutputPart { from: 10, bytes: vec![], ended: true });
}

#[tokio::test]
async fn a_look_does_not_wait_and_a_wait_has_its_bound() {
    let bench = Bench::new();
    let process = bench.start("read line").await;
    let nothing = OutputPart { from: 0, bytes: vec![], ended: false };
    let look = bench.runtime.output(&process, 0, 100, Duration::ZERO);
    assert_eq!(tokio::time::timeout(BOUND, look).await.unwrap().unwrap(), nothing);
    let wait = Duration::from_millis(50);
    let before = Instant::now();
    let bounded = bench.runtime.output(&process, 0, 100, wait);
    assert_eq!(tokio::time::timeout(BOUND, bounded).await.unwrap().unwrap(), nothing);
    assert!(before.elapsed() >= wait);
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// All of them are notified by one message of the shim, and a cancelled wait leaves nothing behind.
#[tokio::test]
async fn many_wait_for_the_same() {
    let bench = Bench::new();
    let process = bench.start("read line; printf heard; read line").await;
    let mut all = Box::pin(join_all((0..50).map(|_| bench.runtime.output(&process, 0, 100, LONG))));
    let mut dropped = Box::pin(bench.runtime.output(&process, 0, 100, LONG));
    assert!((&mut all).now_or_never().is_none());
    assert!((&mut dropped).now_or_never().is_none());
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut all).await.is_err());
    drop(dropped);
    lets_go(&bench, &process, 1).await;
    let heard = tokio::time::timeout(BOUND, all).await.expect("all are released");
    assert!(heard.into_iter().all(|piece| piece.unwrap().bytes == b"heard"));
    bench.runtime.end(&bench.end_order()).await.unwrap();
}
