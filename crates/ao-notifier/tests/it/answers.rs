//! The interpretation of a channel's answers, and the errors made from them.

use std::time::Duration;

use ao_core::notice::NoticeLevel;
use ao_notifier::Channel;
use ao_ports::{Notifier, NotifyError};
use tokio::net::TcpListener;

use crate::server::{Answer, Server};
use crate::support::{channel, notice};

const SECRETS: [&str; 5] = ["T0KENINPATH", "hushquery", "s1gningkey", "bearerw0rd", "987:B0T-token"];

/// A webhook with secrets in every place that there is for one.
fn webhook(server: &Server) -> Channel {
    let url = server.url("/hooks/T0KENINPATH?key=hushquery");
    let secrets = [("secret", "s1gningkey"), ("headers.Authorization", "Bearer bearerw0rd")];
    channel("webhook", &[&[("url", url.as_str())][..], &secrets].concat()).unwrap()
}

fn telegram(server: &Server) -> Channel {
    let url = server.url("/");
    channel("telegram", &[("apiUrl", &url), ("botToken", "987:B0T-token"), ("chatId", "555666777")]).unwrap()
}

async fn told(channel: &Channel) -> Result<(), NotifyError> {
    channel.notify(&notice(NoticeLevel::Info, "done")).await
}

async fn failure(channel: &Channel) -> String {
    match told(channel).await {
        Err(NotifyError::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn assert_no_secrets(text: &str) {
    for secret in SECRETS.iter().chain(&["555666777"]) {
        assert!(!text.contains(secret), "`{secret}` is in: {text}");
    }
}

#[tokio::test]
async fn a_busy_channel_is_left_alone_for_as_long_as_it_wants() {
    let by_header = Answer::status(429).header("retry-after", "7");
    let by_body = Answer::said(429, r#"{"ok":false,"parameters":{"retry_after":7}}"#);
    for answer in [by_header, by_body, Answer::status(503).header("retry-after", "7")] {
        let server = Server::start(answer).await;
        let channel = webhook(&server);
        assert_eq!(told(&channel).await, Err(NotifyError::Later(Duration::from_secs(7))));
        server.answer(Answer::status(200));
        assert!(
            matches!(told(&channel).await, Err(NotifyError::Later(rest)) if rest < Duration::from_secs(7))
        );
        assert_eq!(server.posted().len(), 1, "it is not asked again before the time");
    }
}

#[tokio::test]
async fn a_busy_channel_is_asked_again_when_its_time_is_over() {
    let server = Server::start(Answer::status(429).header("retry-after", "1")).await;
    let channel = webhook(&server);
    assert_eq!(told(&channel).await, Err(NotifyError::Later(Duration::from_secs(1))));
    server.answer(Answer::status(200));
    while let Err(NotifyError::Later(rest)) = told(&channel).await {
        assert!(rest <= Duration::from_secs(1));
        tokio::time::sleep(rest).await;
    }
    assert_eq!(server.posted().len(), 2);
}

#[tokio::test]
async fn a_rejection_is_reported_with_an_excerpt_and_without_secrets() {
    let echo = format!(
        "no\nsuch  hook {}, /hooks/T0KENINPATH?key=hushquery {}",
        SECRETS.join(" "),
        "x".repeat(9000)
    );
    let server = Server::start(Answer::said(500, &echo)).await;
    let why = failure(&webhook(&server)).await;
    assert!(
        why.starts_with(&format!("`{}` answered 500: no such hook …", server.url("/hooks/…?…"))),
        "{why}"
    );
    assert!(why.ends_with("x…") && why.len() < 400, "{why}");
    let telegram = failure(&telegram(&server)).await;
    assert!(telegram.contains("answered 500"), "{telegram}");
    for secret in &SECRETS[..4] {
        assert!(!why.contains(secret), "`{secret}` is in: {why}");
    }
    // It knows its own secrets; the others are nothing to it.
    assert!(!telegram.contains(SECRETS[4]), "{telegram}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (server, other) =
        (Server::start(Answer::status(200)).await, Server::start(Answer::status(200)).await);
    for status in [301, 302, 307, 308] {
        server.answer(Answer::status(status).header("location", &other.url("/T0KENINPATH")));
        let why = failure(&webhook(&server)).await;
        assert!(why.contains(&format!("answered {status}, a redirect to 127.0.0.1")), "{why}");
        assert_no_secrets(&why);
    }
    assert!(other.posted().is_empty());
}

#[tokio::test]
async fn a_channel_that_hangs_fails_in_its_time() {
    let server = Server::start(Answer::Hang).await;
    let channel = webhook(&server).with_timeout(Duration::from_millis(200));
    let why = failure(&channel).await;
    assert_eq!(why, format!("`{}` did not answer within 200ms", server.url("/hooks/…?…")));
}

#[tokio::test]
async fn connection_and_tls_failures_contain_no_secrets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://{address}/hooks/T0KENINPATH?key=hushquery");
    let why = failure(&channel("webhook", &[("url", &url)]).unwrap()).await;
    assert!(why.contains("could not be reached") && why.contains("refused"), "{why}");
    assert_no_secrets(&why);

    let server = Server::start(Answer::status(200)).await;
    let url = server.url("/hooks/T0KENINPATH?key=hushquery").replace("http:", "https:");
    let why = failure(&channel("webhook", &[("url", &url)]).unwrap()).await;
    assert!(why.contains("could not be reached"), "{why}");
    assert_no_secrets(&why);
}

#[tokio::test]
async fn a_shown_channel_has_no_secrets() {
    let server = Server::start(Answer::status(200)).await;
    let (webhook, telegram) = (webhook(&server), telegram(&server));
    assert_eq!(webhook.target(), server.url("/hooks/…?…"));
    assert_eq!(telegram.target(), "@chat 5556…");
    assert_eq!(format!("{telegram:?}"), r#"Channel { plugin: "telegram", target: "@chat 5556…", .. }"#);
    assert_no_secrets(&format!("{webhook:?} {webhook:#?}"));
}
