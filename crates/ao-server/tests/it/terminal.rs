//! Terminals over WebSockets: shown at the viewer's pace, for those who may look.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ao_api::client::{Client, ClientError, TerminalFrame, TerminalSocket};
use ao_api::terminal::{FromServer, FromViewer, WINDOW};
use ao_ports::{Frame, RuntimeError, TerminalView, ViewOptions};
use async_trait::async_trait;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{Frames, House, memory, until};

const PIECE: u64 = 64 * 1024;
const MUCH: u64 = 100 * 1024 * 1024;

/// A program that has put out 100 MB, and how much of it was fetched.
fn torrent(house: &House) -> Arc<AtomicU64> {
    let fetched = Arc::new(AtomicU64::new(0));
    let counting = fetched.clone();
    let scene = move |_| -> Box<dyn TerminalView> {
        let mut begun = false;
        Box::new(Frames(move || {
            if !begun {
                begun = true;
                return Some(Frame::Keyframe { size: (80, 24), from: 0, bytes: b"\x1b[2J".to_vec() });
            }
            let from = counting.load(Ordering::SeqCst);
            (from < MUCH).then(|| {
                counting.store(from + PIECE, Ordering::SeqCst);
                Frame::Output { from, bytes: vec![b'x'; PIECE as usize] }
            })
        }))
    };
    *house.stage.scene.lock().unwrap() = Some(Box::new(scene));
    fetched
}

async fn next(terminal: &mut TerminalSocket) -> TerminalFrame {
    timeout(Duration::from_secs(20), terminal.next()).await.unwrap().unwrap().expect("the view goes on")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_shows_nothing_is_sent_a_window_and_no_more() {
    let house = House::new().await;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let fetched = torrent(&house);
    let before = memory();
    let mut terminal = house.client().terminal(&id.to_string(), "columns=80&rows=24").await.unwrap();
    assert_eq!(
        next(&mut terminal).await,
        TerminalFrame::Control(FromServer::Keyframe { columns: 80, rows: 24 })
    );
    assert!(
        matches!(next(&mut terminal).await, TerminalFrame::Output { from: 0, bytes } if bytes == b"\x1b[2J")
    );
    let mut got = 0;
    while got < WINDOW {
        let TerminalFrame::Output { from, bytes } = next(&mut terminal).await else {
            panic!("only output is left")
        };
        assert_eq!(from, got);
        got += bytes.len() as u64;
    }
    // Nothing more comes, however long one waits, and nothing more was fetched from the program.
    assert!(timeout(Duration::from_millis(300), terminal.next()).await.is_err());
    assert!(fetched.load(Ordering::SeqCst) <= WINDOW + PIECE, "{}", fetched.load(Ordering::SeqCst));
    let grown = memory().saturating_sub(before) / 1024;
    assert!(grown < 16_000, "{grown} KB for a viewer that is behind");

    // From here on it shows what it gets, and so gets all of it.
    terminal.send(&FromViewer::Shown { offset: got }).await.unwrap();
    while got < MUCH {
        let TerminalFrame::Output { from, bytes } = next(&mut terminal).await else {
            panic!("only output is left")
        };
        assert_eq!(from, got, "without gaps");
        got += bytes.len() as u64;
        terminal.send(&FromViewer::Shown { offset: got }).await.unwrap();
    }
    terminal.close().await;
    house.end().await;
    running.finished().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_claims_to_show_and_does_not_read_holds_only_itself_up() {
    let house = House::new().await;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let fetched = torrent(&house);
    let mut terminal = house.client().terminal(&id.to_string(), "").await.unwrap();
    let before = memory();
    let mut last = u64::MAX;
    until("nothing more is fetched for it", async || {
        for _ in 0..20 {
            // It may say what it likes: what it does not read fills the connection, and then nothing more is sent.
            let said =
                timeout(Duration::from_millis(5), terminal.send(&FromViewer::Shown { offset: u64::MAX }));
            let _ = said.await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let now = fetched.load(Ordering::SeqCst);
        std::mem::replace(&mut last, now) == now
    })
    .await;
    assert!(last < MUCH / 2, "{last} bytes were fetched");
    let grown = memory().saturating_sub(before) / 1024;
    assert!(grown < 16_000, "{grown} KB");
    drop(terminal);
    house.end().await;
    running.finished().await;
}

/// A view that tells what was done to it.
struct Told {
    frames: mpsc::UnboundedReceiver<Frame>,
    told: mpsc::UnboundedSender<String>,
}

#[async_trait]
impl TerminalView for Told {
    async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        Ok(self.frames.recv().await)
    }

    async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.told.send(format!("type {}", String::from_utf8_lossy(bytes))).unwrap();
        Ok(())
    }

    async fn resize(&mut self, size: (u16, u16)) -> Result<(), RuntimeError> {
        self.told.send(format!("resize {size:?}")).unwrap();
        Ok(())
    }

    async fn control(&mut self, take: bool) -> Result<(), RuntimeError> {
        self.told.send(format!("control {take}")).unwrap();
        if take { Ok(()) } else { Err(RuntimeError::Failed("you have no control to hand back".into())) }
    }
}

fn scene(house: &House) -> (mpsc::UnboundedSender<Frame>, mpsc::UnboundedReceiver<String>) {
    let ((send, frames), (told, hear)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let scene = move |look: ViewOptions| -> Box<dyn TerminalView> {
        told.send(format!("{:?} control {} history {}", look.size, look.control, look.history)).unwrap();
        Box::new(Told { frames, told })
    };
    *house.stage.scene.lock().unwrap() = Some(Box::new(scene));
    (send, hear)
}

#[tokio::test]
async fn the_owner_looks_types_and_takes_control() {
    let house = House::new().await;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let (frames, mut told) = scene(&house);
    let query = "columns=80&rows=24&control=true&history=1000";
    let mut terminal = house.client().terminal(&id.to_string(), query).await.unwrap();
    assert_eq!(told.recv().await.unwrap(), "Some((80, 24)) control true history 1000");
    terminal.type_bytes(b"ls\r".to_vec()).await.unwrap();
    assert_eq!(told.recv().await.unwrap(), "type ls\r");
    terminal.send(&FromViewer::Resize { columns: 100, rows: 30 }).await.unwrap();
    assert_eq!(told.recv().await.unwrap(), "resize (100, 30)");
    terminal.send(&FromViewer::Control { take: false }).await.unwrap();
    assert_eq!(told.recv().await.unwrap(), "control false");
    let why = "you have no control to hand back".to_owned();
    assert_eq!(next(&mut terminal).await, TerminalFrame::Control(FromServer::Refused { why }));
    terminal.send(&FromViewer::Resize { columns: 0, rows: 30 }).await.unwrap();
    assert!(matches!(next(&mut terminal).await, TerminalFrame::Control(FromServer::Refused { .. })));
    frames.send(Frame::Control { yours: true }).unwrap();
    assert_eq!(next(&mut terminal).await, TerminalFrame::Control(FromServer::Control { yours: true }));
    frames.send(Frame::Ended { code: Some(3) }).unwrap();
    assert_eq!(next(&mut terminal).await, TerminalFrame::Control(FromServer::Ended { code: Some(3) }));
    drop(frames);
    assert!(terminal.next().await.unwrap().is_none(), "the end of the view is the end of the connection");
    house.end().await;
    running.finished().await;
}

/// acceptance: X8
#[tokio::test]
async fn an_agent_may_look_at_its_own_terminal_and_not_touch_it() {
    let house = House::new().await;
    let running = house.serve().await;
    let (own, other) = (house.spawn("own").await, house.spawn("other").await);
    house.run(own).await;
    let token = house.give_token("worker", own);
    let client = house.client().with_token(Some(token));
    let (_frames, mut told) = scene(&house);
    let refused = client.terminal(&other.to_string(), "").await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(problem) if problem.word() == "forbidden"));
    let mut terminal = client.terminal(&own.to_string(), "control=true").await.unwrap();
    assert_eq!(told.recv().await.unwrap(), "None control false history 0");
    terminal.type_bytes(b"rm -rf /\r".to_vec()).await.unwrap();
    assert!(matches!(next(&mut terminal).await, TerminalFrame::Control(FromServer::Refused { .. })));
    terminal.send(&FromViewer::Control { take: true }).await.unwrap();
    assert!(matches!(next(&mut terminal).await, TerminalFrame::Control(FromServer::Refused { .. })));
    assert!(told.try_recv().is_err(), "nothing has reached the terminal");
    house.end().await;
    running.finished().await;
}

/// acceptance: X6
#[tokio::test]
async fn a_foreign_page_cannot_open_a_terminal() {
    let house = House::new().await;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let (_frames, mut told) = scene(&house);
    let address = running.addr().unwrap();
    let open = async |headers: &[(&'static str, String)]| {
        let mut request = format!("ws://{address}/api/sessions/{id}/terminal").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        match tokio_tungstenite::client_async(request, stream).await {
            Ok(_) => 101,
            Err(Error::Http(response)) => response.status().as_u16(),
            Err(other) => panic!("{other}"),
        }
    };
    let token = format!("Bearer {}", house.auth.token());
    let evil = || "http://evil.example".to_owned();
    assert_eq!(open(&[("origin", evil())]).await, 403);
    assert_eq!(open(&[("origin", evil()), ("authorization", token.clone())]).await, 403);
    assert_eq!(open(&[("host", "evil.example".into()), ("authorization", token.clone())]).await, 421);
    assert_eq!(
        open(&[("origin", format!("http://{address}"))]).await,
        401,
        "a page of ours that has not signed in"
    );
    assert!(told.try_recv().is_err(), "nobody has looked");
    assert_eq!(open(&[("origin", format!("http://{address}")), ("authorization", token)]).await, 101);
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_terminal_that_cannot_be_shown_is_a_problem_and_not_a_broken_connection() {
    let house = House::new().await;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    let client: Client = house.client();
    let refused = client.terminal(&id.to_string(), "").await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(problem) if problem.word() == "not-running"));
    let plain = client.get::<()>(&format!("/api/sessions/{id}/terminal")).await.unwrap_err();
    assert!(matches!(plain, ClientError::Refused(problem) if problem.word() == "no-websocket"));
    house.end().await;
    running.finished().await;
}
