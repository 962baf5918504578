//! The streams of a program: a stdin that is at its end, and a stderr that people can read.

use std::time::Duration;

use ao_core::setup::{SecretRef, SecretSource};
use ao_ports::{ProcessIo, ProcessRef, WriteOrder};

use super::story::{RuntimeBench, Story, until_ok};

impl<B: RuntimeBench> Story<B> {
    async fn log(&self, process: &ProcessRef) -> String {
        let piece = self.runtime().log(process, 0, usize::MAX, Duration::ZERO).await.expect("it is read");
        String::from_utf8_lossy(&piece.bytes).into_owned()
    }

    /// Waits until the log contains a text.
    async fn until_log(&self, process: &ProcessRef, text: &str) -> String {
        let look = async || match self.log(process).await {
            log if log.contains(text) => Ok(log),
            log => Err(format!("{log:?}")),
        };
        until_ok("the log", look).await
    }
}

/// A program that reads its stdin to the end continues at once, as headless agents do.
pub async fn a_program_without_input_finds_its_end<B: RuntimeBench>(mut story: Story<B>) {
    if story.io() != ProcessIo::Output {
        return;
    }
    let process = story.start("cat > got; echo over; exit 3").await;
    assert_eq!(story.exit().await.2, Some(3));
    assert_eq!(story.output(&process).await, "over\n");
    assert_eq!(std::fs::read(story.folder().join("got")).expect("it has read"), b"");
    story.end().await;
}

pub async fn a_program_without_input_cannot_be_written_to<B: RuntimeBench>(story: Story<B>) {
    if story.io() != ProcessIo::Output {
        return;
    }
    let process = story.start("echo up; sleep 600").await;
    story.until_output(&process, "up").await;
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"hello\n".to_vec() };
    let err = story.runtime().write(&order).await.expect_err("it has no input").to_string();
    assert!(err.contains("without an input"), "{err}");
    assert_eq!(story.output(&process).await, "up\n", "and nothing of it is seen");
    story.end().await;
}

pub async fn both_streams_are_in_the_log_in_their_order<B: RuntimeBench>(mut story: Story<B>) {
    // Where the streams are separate, each line is read before the next one comes.
    let script = story.heard("echo one; read line; echo two >&2; read line; echo three; sleep 600");
    let process = story.start(&script).await;
    for (number, word) in [(1, "one\n"), (2, "two\n")] {
        story.until_log(&process, word).await;
        story.tell(&process, number, b"go\n").await;
    }
    assert_eq!(story.until_log(&process, "three\n").await, "one\ntwo\nthree\n");
    let output = story.until_output(&process, "three\n").await;
    let expected = if story.io() == ProcessIo::Pipes { "one\nthree\n" } else { "one\ntwo\nthree\n" };
    assert_eq!(output, expected, "a protocol is kept free of it");
    story.restart().await;
    assert_eq!(story.log(&process).await, "one\ntwo\nthree\n", "another daemon reads the same");
    story.end().await;
}

/// The end wakes a reader that waits for more, and nothing is missing.
pub async fn the_log_of_what_has_ended_is_whole<B: RuntimeBench>(mut story: Story<B>) {
    let script = story.heard("echo up; read line; echo out; echo why >&2; exit 4");
    let process = story.start(&script).await;
    story.until_log(&process, "up\n").await;
    let (runtime, waited) = (story.runtime().clone(), process.clone());
    let follower = tokio::spawn(async move {
        let (mut from, mut all) = (0, Vec::new());
        loop {
            let piece = runtime.log(&waited, from, 4, Duration::from_secs(3600)).await.expect("it is read");
            from = piece.from + piece.bytes.len() as u64;
            all.extend(piece.bytes);
            if piece.ended {
                return String::from_utf8(all).expect("text");
            }
        }
    });
    story.tell(&process, 1, b"go\n").await;
    let seen = tokio::time::timeout(super::BOUND, follower).await.expect("it ends").expect("it reads");
    assert!(seen.starts_with("up\n") && seen.contains("out\n") && seen.contains("why\n"), "{seen:?}");
    assert_eq!(story.exit().await.2, Some(4));
    assert_eq!(story.log(&process).await, seen);
    story.end().await;
}

/// acceptance: X5
pub async fn a_secret_is_masked_on_both_streams<B: RuntimeBench>(story: Story<B>) {
    let key = story.folder().join("key");
    std::fs::write(&key, "hunter2hunter2\n").expect("the key is written");
    let mut spec =
        story.spec("echo \"out $STORY_KEY.\"; echo \"err $STORY_KEY.\" >&2; echo up >&2; sleep 600");
    let from = SecretSource::File(key.display().to_string());
    spec.command.secrets.push(SecretRef { name: "STORY_KEY".into(), from });
    let process = story.runtime().start(&spec).await.expect("it starts");
    let log = story.until_log(&process, "up").await;
    assert!(log.contains("err ") && !log.contains("hunter2"), "{log:?}");
    let log = story.until_log(&process, "out ").await;
    assert!(!log.contains("hunter2"), "{log:?}");
    assert!(!story.output(&process).await.contains("hunter2"));
    story.end().await;
}
