//! Many who watch, and many to list.

use std::time::{Duration, Instant};

use ao_api::Sessions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{House, get, memory};

const VIEWERS: usize = 1000;

/// Reads a stream of events, and says when an event that was waited for has come.
async fn view(
    mut stream: TcpStream,
    mut waited: watch::Receiver<u64>,
    came: tokio::sync::mpsc::Sender<Instant>,
) {
    let mut seen = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        if read == 0 {
            return;
        }
        seen.extend_from_slice(&buffer[..read]);
        let id = format!("id: {}\n", *waited.borrow_and_update());
        if seen.windows(id.len()).any(|window| window == id.as_bytes()) {
            seen.clear();
            came.send(Instant::now()).await.unwrap();
        }
        let keep = seen.len().saturating_sub(64);
        seen.drain(..keep);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_viewers_are_cheap_and_hear_at_once() {
    let mut house = House::new().await;
    house.limits.requests_per_second = 10_000;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let address = running.addr().unwrap();
    let before = memory();
    let (wait_for, waited) = watch::channel(u64::MAX);
    let (came, mut arrivals) = tokio::sync::mpsc::channel(VIEWERS);
    let mut viewers = JoinSet::new();
    for _ in 0..VIEWERS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /api/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 15];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK");
        viewers.spawn(view(stream, waited.clone(), came.clone()));
    }
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let next = house.seq().await + 1;
        wait_for.send(next).unwrap();
        let said = Instant::now();
        house.happen(id, 1).await;
        let mut last = said;
        for _ in 0..VIEWERS {
            let at = tokio::time::timeout(Duration::from_secs(20), arrivals.recv()).await.unwrap().unwrap();
            last = last.max(at);
        }
        best = best.min(last.duration_since(said));
    }
    let each = memory().saturating_sub(before) / VIEWERS as u64;
    // Both ends of each connection are in this process.
    assert!(each <= 100 * 1024, "{each} bytes for each viewer");
    assert!(best <= Duration::from_millis(250), "the last of them heard after {best:?}");
    viewers.shutdown().await;
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_hundred_sessions_are_listed_in_one_look() {
    let house = House::new().await;
    let app = house.app().await;
    for nth in 0..100 {
        let id = house.spawn(&format!("task number {nth}")).await;
        if nth < 8 {
            house.run(id).await;
        }
    }
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let began = Instant::now();
        let listed = get("/api/sessions").owner().to(&app).await;
        best = best.min(began.elapsed());
        let listed: Sessions = serde_json::from_value(listed.json).unwrap();
        assert_eq!(listed.sessions.len(), 100);
        assert!(listed.sessions.is_sorted_by(|a, b| a.created_at >= b.created_at), "newest first");
    }
    // Without optimisation, and with the test's own reading of it.
    assert!(best < Duration::from_millis(100), "{best:?}");
    house.end().await;
}
