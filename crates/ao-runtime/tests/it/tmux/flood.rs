//! A flood of output stays within its bounds and delays no other agent.

use std::fs;
use std::time::Duration;

use ao_testkit::contract::runtime::Story;

use super::bench::Terminal;

#[tokio::test]
async fn twenty_megabytes_are_kept_within_bounds_and_commands_get_through() {
    let story = Story::begin(Terminal::new()).await;
    let client = || story.bench().ask(&["list-clients", "-F", "#{client_pid}"]);
    let script = "yes 0123456789012345678901234567890123456789012345678901234567890123456789 \
        | head -c 20000000; printf 'the end'; sleep 600";
    let process = story.start(script).await;
    let before = client();
    let mut from = 0;
    let mut tail = Vec::new();
    while !tail.ends_with(b"the end") {
        // While it pours, a command is answered.
        story.runtime().screen(&process).await.unwrap();
        let piece = story.runtime().output(&process, from, 1 << 20, Duration::from_secs(30)).await.unwrap();
        assert!(!piece.bytes.is_empty(), "it goes on");
        from = piece.from + piece.bytes.len() as u64;
        tail = piece.bytes;
    }
    assert_eq!(from, 20_000_007, "every byte is counted");
    let place = story.bench().state().join("agents").join(story.session(0).to_string()).join("1");
    let kept: u64 = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(kept < 9 << 20, "{kept} bytes are kept");
    assert_eq!(client(), before, "the control client is the same");
    story.end().await;
}
