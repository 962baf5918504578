//! Output: read by offset and waited for, also after the daemon or the process is gone.

use std::time::{Duration, Instant};

use ao_ports::{OutputPart, ProcessRef};
use futures::FutureExt;

use super::story::{BOUND, RuntimeBench, Story};

/// Far beyond the time limit of a story: a wait that ends only by this fails.
const LONG: Duration = Duration::from_secs(3600);

impl<B: RuntimeBench> Story<B> {
    async fn piece(&self, process: &ProcessRef, from: u64, limit: usize) -> OutputPart {
        let piece = self.runtime().output(process, from, limit, LONG);
        tokio::time::timeout(BOUND, piece).await.expect("it comes in time").expect("it is read")
    }

    /// Reads on until a text has come. Returns the output and its end.
    async fn read_on(&self, process: &ProcessRef, mut from: u64, text: &str) -> (String, u64) {
        let mut all = Vec::new();
        while !String::from_utf8_lossy(&all).contains(text) {
            let piece = self.piece(process, from, 4096).await;
            assert_eq!(piece.from, from, "nothing is missing");
            from += piece.bytes.len() as u64;
            all.extend(piece.bytes);
            assert!(!piece.ended || String::from_utf8_lossy(&all).contains(text), "it ended first");
        }
        (String::from_utf8_lossy(&all).into_owned(), from)
    }
}

pub async fn output_is_read_by_offset_and_limit<B: RuntimeBench>(story: Story<B>) {
    let process = story.start("printf 0123456789; sleep 600").await;
    story.until_output(&process, "9").await;
    let bytes = async |from, limit| story.piece(&process, from, limit).await.bytes;
    assert_eq!(bytes(0, 4).await, b"0123");
    assert_eq!(bytes(4, 3).await, b"456");
    assert_eq!(bytes(7, 100).await, b"789");
    assert_eq!(bytes(0, 4).await, b"0123", "reading takes nothing away");
    story.end().await;
}

pub async fn a_look_at_output_does_not_wait_and_a_wait_has_its_bound<B: RuntimeBench>(story: Story<B>) {
    let process = story.start("sleep 600").await;
    let nothing = OutputPart { from: 0, bytes: vec![], ended: false };
    let look = story.runtime().output(&process, 0, 100, Duration::ZERO);
    assert_eq!(tokio::time::timeout(BOUND, look).await.expect("at once").expect("it is read"), nothing);
    let wait = Duration::from_millis(50);
    let before = Instant::now();
    let bounded = story.runtime().output(&process, 0, 100, wait);
    assert_eq!(
        tokio::time::timeout(BOUND, bounded).await.expect("it is bounded").expect("it is read"),
        nothing
    );
    assert!(before.elapsed() >= wait);
    story.end().await;
}

pub async fn who_waits_for_output_is_woken_by_it_and_by_the_end<B: RuntimeBench>(story: Story<B>) {
    let script = story.heard("printf up; read line; printf heard; read line; exit 0");
    let process = story.start(&script).await;
    story.until_output(&process, "up").await;
    for (number, from, bytes) in [(1, 2, &b"heard"[..]), (2, 7, b"")] {
        let mut waiting = Box::pin(story.piece(&process, from, 100));
        // Time for the wait to begin. If it is too short, less is tested, but nothing fails.
        let begun = tokio::time::Instant::now() + Duration::from_millis(50);
        while tokio::time::Instant::now() < begun {
            assert!((&mut waiting).now_or_never().is_none(), "there is nothing to read yet");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        story.tell(&process, number, b"go\n").await;
        assert_eq!(waiting.await, OutputPart { from, bytes: bytes.to_vec(), ended: bytes.is_empty() });
    }
    story.end().await;
}

pub async fn the_last_words_come_before_the_end_is_told<B: RuntimeBench>(mut story: Story<B>) {
    let process = story.start("printf 0123456789").await;
    story.exit().await;
    let end = |from, bytes: &[u8], ended| OutputPart { from, bytes: bytes.to_vec(), ended };
    assert_eq!(story.piece(&process, 0, 4).await, end(0, b"0123", false));
    assert_eq!(story.piece(&process, 4, 100).await, end(4, b"456789", true));
    assert_eq!(story.piece(&process, 10, 100).await, end(10, b"", true));
    story.restart().await;
    assert_eq!(story.piece(&process, 4, 100).await, end(4, b"456789", true), "and after a restart");
    story.end().await;
}

pub async fn output_is_read_on_after_a_restart_where_it_stopped<B: RuntimeBench>(mut story: Story<B>) {
    let script = "printf 'up.'; while [ ! -e go ]; do sleep 0.05; done; printf 'alone.'; echo > gone; \
        read line; printf \"$line.\"; sleep 600";
    let process = story.start(&story.heard(script)).await;
    let (_, offset) = story.read_on(&process, 0, "up.").await;
    story.daemon_ends();
    std::fs::write(story.folder().join("go"), "").expect("a file");
    story.until_file("gone").await;
    story.daemon_starts().await;
    let (text, offset) = story.read_on(&process, offset, "alone.").await;
    assert_eq!(text, "alone.", "what was put out while no daemon was there is not lost");
    story.tell(&process, 1, b"heard\n").await;
    assert_eq!(story.read_on(&process, offset, "heard.").await.0, "heard.");
    story.end().await;
}

/// The recording may begin late, but from there on every line is present.
pub async fn a_long_output_has_no_gaps<B: RuntimeBench>(story: Story<B>) {
    const LINES: u64 = 300_000;
    let process = story.start(&format!("seq 1 {LINES}; sleep 600")).await;
    let (mut from, mut all) = (0, Vec::new());
    let last = format!("\n{LINES}\n");
    while !all.ends_with(last.as_bytes()) {
        let piece = story.piece(&process, from, 1 << 16).await;
        assert!(piece.bytes.len() <= 1 << 16, "no more than was asked for");
        assert!(piece.from >= from, "what is asked for is never before");
        if piece.from > from {
            all.clear();
        }
        from = piece.from + piece.bytes.len() as u64;
        all.extend(piece.bytes);
    }
    let text = String::from_utf8(all).expect("digits and line ends");
    let numbers: Vec<u64> = text.lines().skip(1).map(|line| line.parse().expect("a number")).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    story.end().await;
}
