//! The message that each plugin posts.

use ao_core::notice::NoticeLevel;
use ao_ports::Notifier;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::server::{Answer, Posted, Server};
use crate::support::{channel, notice};

/// Everything that chats would obey, if they were let.
const HOSTILE: &str = "<!channel> <@U1> @everyone &amp; <https://evil.example|your bank> [your bank](https://evil.example)\n*bold* `code`\u{202e}\u{7}";

async fn posted(plugin: &str, path: &str, key: &str, more: &[(&str, &str)], text: &str) -> Posted {
    let server = Server::start(Answer::status(200)).await;
    let url = server.url(path);
    let settings: Vec<(&str, &str)> = [(key, url.as_str())].into_iter().chain(more.iter().copied()).collect();
    channel(plugin, &settings).unwrap().notify(&notice(NoticeLevel::Urgent, text)).await.unwrap();
    server.only()
}

async fn to_slack(text: &str) -> Posted {
    posted("slack", "/services/T0/B0/XXXX", "webhookUrl", &[], text).await
}

async fn to_discord(text: &str) -> Posted {
    posted("discord", "/api/webhooks/7/token", "webhookUrl", &[], text).await
}

async fn to_telegram(text: &str) -> Posted {
    let bot = [("botToken", "123:ABC-def_4"), ("chatId", "-100123456")];
    posted("telegram", "", "apiUrl", &bot, text).await
}

fn length(value: &Value) -> usize {
    value.as_str().unwrap().encode_utf16().count()
}

#[tokio::test]
async fn slack_gets_plain_blocks_and_nothing_in_them_is_a_link_or_a_mention() {
    let posted = to_slack(HOSTILE).await;
    assert_eq!(posted.target, "/services/T0/B0/XXXX");
    assert_eq!(posted.header("content-type"), Some("application/json"));
    let text = "&lt;!channel&gt; &lt;@U1&gt; @everyone &amp;amp; &lt;https://evil.example|your bank&gt; \
        [your bank](https://evil.example)\n*bold* `code`";
    let plain = |text: &str| json!({ "type": "plain_text", "emoji": false, "text": text });
    let expected = json!({
        "text": format!("urgent: ses_4f\n{text}"),
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": [
            { "type": "header", "text": plain("urgent: ses_4f") },
            { "type": "section", "text": plain(text) },
        ],
    });
    assert_eq!(posted.json(), expected);
}

#[tokio::test]
async fn slack_gets_no_empty_block() {
    let posted = to_slack(" \n").await;
    assert_eq!(posted.json()["blocks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn discord_gets_escaped_text_without_mentions() {
    let posted = to_discord(HOSTILE).await;
    assert_eq!(posted.target, "/api/webhooks/7/token?wait=true&with_components=true");
    let text = r"urgent: ses\_4f
\<!channel\> \<\@U1\> \@everyone &amp; \<https://evil.example\|your bank\> \[your bank\]\(https://evil.example\)
\*bold\* \`code\`";
    let expected = json!({ "content": text, "allowed_mentions": { "parse": [] }, "flags": 4 });
    assert_eq!(posted.json(), expected);
}

#[tokio::test]
async fn an_address_in_a_text_to_discord_can_still_be_opened() {
    let posted = to_discord("see https://example.com/my_app/pull/4#issue_2 and my_app").await;
    let text = r"urgent: ses\_4f
see https://example.com/my_app/pull/4#issue_2 and my\_app";
    assert_eq!(posted.json()["content"], text);
}

#[tokio::test]
async fn telegram_gets_text_without_markup() {
    let posted = to_telegram(HOSTILE).await;
    assert_eq!(posted.target, "/bot123:ABC-def_4/sendMessage");
    let text = "urgent: ses_4f\n<!channel> <@\u{2060}U1> @\u{2060}everyone &amp; <https://evil.example|your bank> \
        [your bank](https://evil.example)\n*bold* `code`";
    let expected =
        json!({ "chat_id": "-100123456", "text": text, "link_preview_options": { "is_disabled": true } });
    assert_eq!(posted.json(), expected);
}

#[tokio::test]
async fn a_webhook_gets_everything_with_the_key_and_a_signature() {
    let more = [("secret", "s3cret"), ("headers.Authorization", "Bearer t0ken"), ("headers.X-Team", "core")];
    let posted = posted("webhook", "/hook?from=ao", "url", &more, "the agent asks: go on?").await;
    assert_eq!(posted.target, "/hook?from=ao");
    assert_eq!(posted.header("x-ao-notice"), Some("ses_4f%20delivery%202"));
    assert_eq!(posted.header("authorization"), Some("Bearer t0ken"));
    assert_eq!(posted.header("x-team"), Some("core"));
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
    mac.update(&posted.body);
    let signature = posted.header("x-ao-signature-256").unwrap().strip_prefix("sha256=").unwrap();
    let bytes: Vec<u8> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap()).collect();
    mac.verify_slice(&bytes).expect("it is the signature of what was posted");
    let expected = json!({
        "version": 1,
        "key": "ses_4f delivery 2",
        "level": "urgent",
        "subject": { "kind": "session", "id": "ses_4f" },
        "title": "urgent: ses_4f",
        "text": "the agent asks: go on?",
        "project": null,
        "session": null,
        "links": [],
        "gathered": 0,
    });
    assert_eq!(posted.json(), expected);
}

#[tokio::test]
async fn a_webhook_without_a_secret_is_not_signed() {
    let posted = posted("webhook", "/hook", "url", &[], "a").await;
    assert_eq!(posted.header("x-ao-signature-256"), None);
}

#[tokio::test]
async fn texts_are_cut_to_what_each_channel_takes() {
    // Each of these is written as five or two characters somewhere, and one that is none.
    for text in ["&".repeat(50_000), "*".repeat(50_000), "🦀".repeat(50_000)] {
        let slack = to_slack(&text).await.json();
        assert!(length(&slack["blocks"][1]["text"]["text"]) <= 3000);
        assert!(length(&slack["text"]) <= 40_000);
        assert!(length(&to_discord(&text).await.json()["content"]) <= 2000);
        let telegram = to_telegram(&text).await.json();
        assert!((4095..=4096).contains(&length(&telegram["text"])));
        assert!(telegram["text"].as_str().unwrap().ends_with('…'));
    }
}
