//! Writing: every byte unchanged, and once.

use ao_ports::{ProcessIo, WriteOrder, WriteOutcome};

use super::story::{RuntimeBench, Story, until};

/// All byte values, control bytes too, and more of them than a terminal takes at once.
pub async fn bytes_arrive_exactly<B: RuntimeBench>(story: Story<B>) {
    if story.io() == ProcessIo::Output {
        return;
    }
    let process = story.start("echo up; head -c 8193 > got.partial; mv got.partial got; sleep 600").await;
    story.until_output(&process, "up").await;
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(8192).collect();
    assert_eq!(story.write(&process, 1, &bytes).await, WriteOutcome::Written);
    assert_eq!(story.write(&process, 2, b"!").await, WriteOutcome::Written);
    let path = story.folder().join("got");
    let got = until("the bytes", async || std::fs::read(&path).ok()).await;
    assert_eq!(got.len(), 8193);
    assert!(got[..8192] == bytes && got[8192] == b'!', "they are the same, in the same order");
    story.end().await;
}

pub async fn a_write_arrives_once_for_each_number<B: RuntimeBench>(mut story: Story<B>) {
    if !story.abilities().remembers_writes || story.io() == ProcessIo::Output {
        return;
    }
    let process = story.start("echo up; while read line; do echo \"<$line>\"; done").await;
    story.until_output(&process, "up").await;
    assert_eq!(story.write(&process, 7, b"one\n").await, WriteOutcome::Written);
    assert_eq!(story.write(&process, 7, b"one\n").await, WriteOutcome::AlreadyWritten);
    story.restart().await;
    assert_eq!(
        story.write(&process, 7, b"one\n").await,
        WriteOutcome::AlreadyWritten,
        "another daemon knows too"
    );
    // Numbers are names; a smaller one may come later.
    assert_eq!(story.write(&process, 3, b"two\n").await, WriteOutcome::Written);
    let output = story.until_output(&process, "<two>").await;
    assert_eq!(output.matches("<one>").count(), 1, "{output}");
    story.end().await;
}

pub async fn a_write_to_what_has_ended_is_an_error<B: RuntimeBench>(mut story: Story<B>) {
    if story.io() == ProcessIo::Output {
        return;
    }
    let process = story.start("exit 0").await;
    story.exit().await;
    let order = WriteOrder { process, number: 1, bytes: b"hello\n".to_vec() };
    let err = story.runtime().write(&order).await.expect_err("nobody reads it").to_string();
    assert!(err.contains("ended"), "{err}");
    story.end().await;
}

/// As long as a message can be, and its number is remembered as for a short one.
pub async fn a_long_text_arrives_whole<B: RuntimeBench>(story: Story<B>) {
    const LONG: usize = 300_000;
    if story.io() == ProcessIo::Output {
        return;
    }
    let process =
        story.start(&format!("echo up; head -c {LONG} > got.partial; mv got.partial got; sleep 600")).await;
    story.until_output(&process, "up").await;
    let text: Vec<u8> = (0..LONG).map(|index| b"a line of text\n"[index % 15]).collect();
    assert_eq!(story.write(&process, 1, &text).await, WriteOutcome::Written);
    let path = story.folder().join("got");
    let got = until("the text", async || std::fs::read(&path).ok()).await;
    assert!(got == text, "it is the same");
    if story.abilities().remembers_writes {
        assert_eq!(story.write(&process, 1, &text).await, WriteOutcome::AlreadyWritten);
    }
    story.end().await;
}
