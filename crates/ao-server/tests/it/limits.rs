//! What one caller may ask for.

use std::time::Duration;

use axum::http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{House, call, get, post, until};

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_kept() {
    let house = House::new().await;
    let app = house.app().await;
    let large = "x".repeat(2 << 20);
    let declared = post("/api/sessions", json!({"title": large})).owner().to(&app).await;
    assert_eq!(declared.told(), "413 too-large");
    // Without saying how much is to come.
    let mut request =
        call(Method::POST, "/api/sessions").with("content-type", "application/json").owner().request();
    *request.body_mut() = axum::body::Body::from_stream(futures::stream::iter(
        (0..32).map(|_| Ok::<_, std::convert::Infallible>(vec![b' '; 64 << 10])),
    ));
    let response = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
    assert_eq!(response.status(), 413);
    // Imported issues may be larger.
    let import = post("/api/issues/import", json!({"unknown": large})).owner().to(&app).await;
    assert_ne!(import.told(), "413 too-large");
    house.end().await;
}

async fn ask(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_flood_over_tcp_is_told_to_come_back_and_the_socket_is_not() {
    let mut house = House::new().await;
    house.limits.requests_per_second = 5;
    let running = house.serve().await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(ask(running.addr().unwrap(), "/healthz").await);
    }
    let refused: Vec<_> = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 429")).collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|answer| answer.contains("retry-after: 1")));
    assert!(answers[0].starts_with("HTTP/1.1 200"), "{}", answers[0]);
    for _ in 0..30 {
        house.client().get::<ao_api::Health>("/healthz").await.unwrap();
    }
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn there_is_room_for_so_many_connections_and_again_when_some_have_gone() {
    let mut house = House::new().await;
    house.limits.connections = 3;
    let running = house.serve().await;
    let watch = async || {
        let address = running.addr().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /api/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        stream
    };
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(watch().await);
    }
    let full = ask(running.addr().unwrap(), "/healthz").await;
    assert!(full.starts_with("HTTP/1.1 503") && full.contains("retry-after: 1"), "{full}");
    assert!(full.contains("urn:ao:too-many-connections"), "{full}");
    // The socket has room of its own.
    house.client().get::<ao_api::Health>("/healthz").await.unwrap();
    streams.pop();
    until("there is room again", async || ask(running.addr().unwrap(), "/healthz").await.contains(" 200 "))
        .await;
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn whoever_does_not_say_what_he_wants_is_not_waited_for() {
    let mut house = House::new().await;
    house.limits.head = Duration::from_millis(100);
    let running = house.serve().await;
    let address = running.addr().unwrap();
    let whole = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n");
    // Nothing, the beginning of something, and nothing more after an answer.
    for said in ["", "GET /healthz HTTP/1.1\r\nhost: ", &whole] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let gone = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
        assert!(gone.is_ok(), "the connection is closed after `{said}`");
    }
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_connection_on_which_nothing_is_asked_gives_way_to_the_next() {
    let mut house = House::new().await;
    house.limits.connections = 3;
    house.limits.head = Duration::from_secs(600);
    let running = house.serve().await;
    let mut idle = Vec::new();
    for _ in 0..10 {
        idle.push(TcpStream::connect(running.addr().unwrap()).await.unwrap());
        assert!(ask(running.addr().unwrap(), "/healthz").await.starts_with("HTTP/1.1 200"));
    }
    let mut answer = Vec::new();
    let gone = tokio::time::timeout(Duration::from_secs(10), idle[0].read_to_end(&mut answer)).await;
    assert!(gone.is_ok(), "the oldest is closed");
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let mut house = House::new().await;
    house.limits.request = Duration::from_millis(100);
    let app = house.app().await;
    let id = house.spawn("one").await;
    let late = get(&format!("/api/sessions/{id}/output?wait=true")).owner().to(&app).await;
    assert_eq!(late.told(), "504 timed-out");
    house.end().await;
}
