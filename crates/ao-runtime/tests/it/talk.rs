//! Writing, reading by offset, and looking.

use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_ports::{ProcessRef, Runtime, WriteOrder, WriteOutcome};

use crate::support::Bench;

fn order(process: &ProcessRef, number: u64, bytes: impl Into<Vec<u8>>) -> WriteOrder {
    WriteOrder { process: process.clone(), number, bytes: bytes.into() }
}

#[tokio::test]
async fn a_write_with_the_same_number_is_made_once() {
    let bench = Bench::new();
    let process = bench.start("while read line; do echo $line; done").await;
    assert_eq!(bench.runtime.write(&order(&process, 1, "a\n")).await, Ok(WriteOutcome::Written));
    assert_eq!(bench.runtime.write(&order(&process, 1, "a\n")).await, Ok(WriteOutcome::AlreadyWritten));
    assert_eq!(bench.runtime.write(&order(&process, 2, "b\n")).await, Ok(WriteOutcome::Written));
    assert_eq!(bench.until(&process, |output| output.contains('b')).await, "a\nb\n");
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn more_than_a_pipe_holds_arrives_whole() {
    let bench = Bench::new();
    let process = bench.start("head -c 300000 | cksum").await;
    let text = "ü\"\n".repeat(75_000);
    bench.runtime.write(&order(&process, 1, text)).await.unwrap();
    let output = bench.until(&process, |output| output.ends_with('\n')).await;
    assert!(output.ends_with(" 300000\n"), "{output}");
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn a_process_that_has_ended_cannot_be_written_to_but_read() {
    let mut bench = Bench::new();
    let process = bench.start("printf 0123456789").await;
    bench.exit().await;
    let told = bench.runtime.write(&order(&process, 1, "a\n")).await.unwrap_err().to_string();
    assert!(told.contains("has ended and reads nothing any more"), "{told}");
    let piece = bench.runtime.output(&process, 3, 4, Duration::ZERO).await.unwrap();
    assert_eq!((piece.from, piece.bytes.as_slice()), (3, b"3456".as_slice()));
    assert_eq!(bench.runtime.output(&process, 10, 4, Duration::ZERO).await.unwrap().bytes, b"");
    assert_eq!(bench.runtime.output(&process, 99, 4, Duration::ZERO).await.unwrap().bytes, b"");
}

#[tokio::test]
async fn a_process_at_work_is_busy_and_one_that_waits_is_not() {
    let bench = Bench::new();
    let process = bench.start("read line; sh -c 'while :; do :; done'").await;
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Alive { busy: false });
    bench.runtime.write(&order(&process, 1, "go\n")).await.unwrap();
    let bound = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while bench.runtime.look(&process).await != (ProcessLife::Alive { busy: true }) {
        assert!(std::time::Instant::now() < bound, "its child is busy");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert_eq!(bench.runtime.look(&ProcessRef::new("process", "pane-7")).await, ProcessLife::Unknown);
}
