//! The stream of events: whole, in order, from any point of the past, and nobody's memory.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ao_api::Event;
use ao_core::SessionId;
use ao_ports::{EventStore, Snapshot};
use axum::Router;
use axum::body::BodyDataStream;
use futures::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::ServiceExt;

use crate::support::{Call, House, get, memory, until};

/// What a viewer reads, event by event.
struct Reader {
    body: BodyDataStream,
    rest: String,
}

impl Reader {
    async fn open(app: &Router, call: Call) -> Reader {
        let response = app.clone().oneshot(call.request()).await.unwrap();
        assert_eq!(response.status(), 200);
        Reader { body: response.into_body().into_data_stream(), rest: String::new() }
    }

    /// The next block, up to its empty line.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.rest.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.rest = rest;
                return Some(block);
            }
            let piece = tokio::time::timeout(Duration::from_secs(20), self.body.next()).await.unwrap()?;
            self.rest.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        }
    }

    async fn event(&mut self) -> Event {
        loop {
            let block = self.block().await.expect("the stream goes on");
            if let Some((id, data)) = block.split_once('\n') {
                let event: Event = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                assert_eq!(id, format!("id: {}", event.seq));
                return event;
            }
        }
    }

    async fn up_to(&mut self, last: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.last().is_none_or(|seq| *seq < last) {
            seen.push(self.event().await.seq);
        }
        seen
    }
}

/// acceptance: N5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_joins_while_events_flow_gets_each_of_them_once_and_in_order() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let last = house.seq().await + 600;
    let mut viewers = tokio::task::JoinSet::new();
    let flow = house.happen(id, 600);
    let join = async {
        // They come one after another while it happens, some from the beginning and some from the middle.
        for nth in 0..20u64 {
            let (app, after) = (app.clone(), nth % 3 * 4);
            viewers.spawn(async move {
                let mut reader = Reader::open(&app, get(&format!("/api/events?after={after}")).owner()).await;
                (after, reader.up_to(last).await)
            });
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::join!(flow, join);
    assert_eq!(house.seq().await, last);
    for (after, seen) in viewers.join_all().await {
        assert_eq!(seen, (after + 1..=last).collect::<Vec<_>>());
    }
    house.end().await;
}

/// acceptance: N5
#[tokio::test]
async fn a_viewer_that_lost_the_connection_goes_on_where_it_was() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let mut first = Reader::open(&app, get("/api/events?after=0").owner()).await;
    let seen = first.up_to(5).await;
    drop(first);
    house.happen(id, 10).await;
    let last = house.seq().await;
    // As a browser does it: the address is the same as the first time, and the header says how far it got.
    let again = get("/api/events?after=0").with("last-event-id", "5").owner();
    let rest = Reader::open(&app, again).await.up_to(last).await;
    assert_eq!([seen, rest].concat(), (1..=last).collect::<Vec<_>>());
    let nonsense = get("/api/events").with("last-event-id", "yesterday").owner().to(&app).await;
    assert_eq!(nonsense.told(), "400 invalid-event-id");
    // From a log that was longer once: there is nothing to wait for but the present.
    let mut ahead = Reader::open(&app, get("/api/events?after=99999").owner()).await;
    assert_eq!(ahead.block().await.unwrap(), ": events");
    house.happen(id, 1).await;
    assert_eq!(ahead.event().await.seq, last + 1);
    house.end().await;
}

#[tokio::test]
async fn a_stream_can_be_of_one_session_and_beats_when_nothing_happens() {
    let mut house = House::new().await;
    house.limits.heartbeat = Duration::from_millis(20);
    let app = house.app().await;
    let (one, other): (SessionId, SessionId) = (house.spawn("one").await, house.spawn("other").await);
    let mut reader = Reader::open(&app, get("/api/events?session=my-app-other&after=0").owner()).await;
    for _ in 0..2 {
        assert_eq!(reader.event().await.session_id, Some(other.to_string()));
    }
    house.run(one).await;
    house.run(other).await;
    let event = reader.event().await;
    assert_eq!(event.session_id, Some(other.to_string()));
    assert!(event.kind.starts_with("session."), "{}", event.kind);
    let mut quiet = Reader::open(&app, get("/api/events").owner()).await;
    assert_eq!(quiet.block().await.unwrap(), ": events");
    assert_eq!(quiet.block().await.unwrap(), ":");
    house.end().await;
}

/// acceptance: X8
#[tokio::test]
async fn an_agent_hears_of_its_own_session_only() {
    let house = House::new().await;
    let app = house.app().await;
    let (own, other) = (house.spawn("own").await, house.spawn("other").await);
    house.give_token("worker", own);
    house.run(other).await;
    house.run(own).await;
    let mut reader = Reader::open(&app, get("/api/events?after=0").token("worker")).await;
    for _ in 0..8 {
        assert_eq!(reader.event().await.session_id, Some(own.to_string()));
    }
    house.end().await;
}

#[tokio::test]
async fn a_past_that_is_no_more_is_said_to_be_no_more() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    for _ in 0..2 {
        house.happen(id, 5).await;
        let (seq, body) = house.handle.view_at(|state, seq| (seq, state.to_snapshot())).await.unwrap();
        let snapshot = Snapshot { seq, format: ao_core::SNAPSHOT_FORMAT, body };
        house.store.save_snapshot(snapshot).await.unwrap();
    }
    let before = ao_core::Timestamp(i64::MAX);
    let pruned = house.store.prune(ao_store::Retention { before }).await.unwrap();
    assert!(pruned.events > 0);
    let gone = get("/api/events?after=0").owner().to(&app).await;
    assert_eq!(gone.told(), "410 events-removed");
    assert!(gone.json["hints"][0].as_str().unwrap().contains("GET /api/sessions"));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_reads_nothing_is_let_go_and_nothing_is_kept_for_it() {
    let mut house = House::new().await;
    house.limits.stall = Duration::from_millis(300);
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let address = running.addr().unwrap();
    let mut sleepers = Vec::new();
    for _ in 0..50 {
        let mut sleeper = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /api/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
        sleeper.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 15];
        sleeper.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK");
        sleepers.push(sleeper);
    }
    let client = house.client();
    let viewers = async || {
        let numbers = client.call(axum::http::Method::GET, "/metrics", None).await.unwrap();
        let text = String::from_utf8(numbers.body.to_vec()).unwrap();
        let line = text.lines().find(|line| line.starts_with("ao_event_viewers ")).unwrap().to_owned();
        line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(viewers().await, 50);
    let before = memory();
    // Events of some size, more than the system takes for somebody who does not read them.
    for nth in 0..400 {
        let why = format!("{nth} {}", "x".repeat(20_000));
        let kind = ao_core::session::HoldKind::Account;
        house.tell(id, ao_core::session::SessionInput::Hold { kind, why }).await;
        house.tell(id, ao_core::session::SessionInput::Release { kind }).await;
    }
    let grown = memory().saturating_sub(before) / 1024;
    // 8 MB of events for each of the fifty would be 400 MB. The ring and the log's own caches are allowed for.
    assert!(grown < 60_000, "{grown} KB");
    until("all of them are let go", async || viewers().await == 0).await;
    drop(sleepers);
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_log_that_could_not_be_read_for_a_while_ends_no_stream() {
    let house = House::new().await;
    let id = house.spawn("one").await;
    house.read_faults.unreadable.store(true, Ordering::SeqCst);
    let app = house.app().await;
    let mut reader = Reader::open(&app, get("/api/events").owner()).await;
    until("a read has failed", async || house.read_faults.refused.load(Ordering::SeqCst) > 0).await;
    let last = house.seq().await + 3;
    house.happen(id, 3).await;
    house.read_faults.unreadable.store(false, Ordering::SeqCst);
    assert_eq!(reader.up_to(last).await, [last - 2, last - 1, last]);
    house.end().await;
}
