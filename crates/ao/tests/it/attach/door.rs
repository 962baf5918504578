//! The part of the API that `ao attach` uses, over real views of real terminals.

use std::sync::Arc;

use ao_api::Problem;
use ao_api::terminal::{FromServer, FromViewer};
use ao_core::session::Session;
use ao_daemon::terminals::TerminalViews;
use ao_ports::{Frame, TerminalView, ViewOptions};
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use crate::cli::wire;
use crate::fleet::Fleet;

/// A daemon's door, open until it is dropped.
pub(super) struct Door(#[expect(dead_code, reason = "it goes on until it is dropped")] JoinSet<()>);

impl Door {
    pub(super) async fn open(fleet: &Fleet, views: Arc<TerminalViews>) -> Door {
        let socket = fleet.path("data/ao.sock");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(socket).unwrap();
        let sessions: Vec<Session> = fleet
            .view(|state| state.sessions.values().map(|session| Session::clone(session)).collect())
            .await;
        let sessions = Arc::new(sessions);
        let mut all = JoinSet::new();
        all.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, sessions.clone(), views.clone()));
            }
        });
        Door(all)
    }
}

async fn serve(mut stream: UnixStream, sessions: Arc<Vec<Session>>, views: Arc<TerminalViews>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    if !String::from_utf8_lossy(&head).to_ascii_lowercase().contains("upgrade: websocket") {
        return tell(stream, &String::from_utf8_lossy(&head), &sessions).await;
    }
    let (read, write) = stream.into_split();
    let stream = tokio::io::join(std::io::Cursor::new(head).chain(read), write);
    let mut asked = None;
    let callback = |request: &Request, response: Response| {
        let name = request.uri().path().split('/').nth(3).unwrap_or_default();
        // By its id: a name may mean another one later.
        let session = sessions.iter().find(|session| session.id.to_string() == name).cloned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        match session {
            Some(session) => {
                asked = Some((session, query));
                Ok(response)
            }
            None => {
                let mut refusal = ErrorResponse::new(serde_json::to_string(&unknown(name)).ok());
                *refusal.status_mut() = 404.try_into().unwrap();
                Err(refusal)
            }
        }
    };
    let Ok(socket) = accept_hdr_async(stream, callback).await else { return };
    let (session, query) = asked.unwrap();
    let value = |name: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    let size = (value("columns").unwrap().parse().unwrap(), value("rows").unwrap().parse().unwrap());
    let look = ViewOptions { size: Some(size), control: value("control").unwrap() == "true", history: 0 };
    let view = views.attach(&session, look).await.unwrap();
    show(socket, view).await;
}

/// Answers who a session is, by its name.
async fn tell(mut stream: UnixStream, head: &str, sessions: &[Session]) {
    let name = head.split_whitespace().nth(1).and_then(|path| path.strip_prefix("/api/sessions/"));
    let name = name.unwrap_or_default();
    let (status, body) = match sessions.iter().find(|session| session.spec.name == name) {
        Some(session) => {
            let told = ao_api::Session { id: session.id.to_string(), ..wire::session(name, "idle") };
            (200, serde_json::to_string(&told).unwrap())
        }
        None => (404, serde_json::to_string(&unknown(name)).unwrap()),
    };
    let answer = format!("HTTP/1.1 {status} so\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // Whoever hangs up early is none of the door's business.
    let _ = stream.write_all(answer.as_bytes()).await;
}

fn unknown(name: &str) -> Problem {
    Problem::new(404, "unknown-session", format!("there is no session `{name}`"))
}

async fn show<S: AsyncRead + AsyncWrite + Unpin>(
    mut socket: WebSocketStream<S>,
    mut view: Box<dyn TerminalView>,
) {
    loop {
        tokio::select! {
            said = socket.next() => match said {
                Some(Ok(Message::Binary(bytes))) => view.type_bytes(&bytes).await.unwrap_or_default(),
                Some(Ok(Message::Text(word))) => match serde_json::from_str(&word).unwrap() {
                    FromViewer::Shown { .. } => {}
                    FromViewer::Resize { columns, rows } => view.resize((columns, rows)).await.unwrap(),
                    FromViewer::Control { take } => view.control(take).await.unwrap(),
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            frame = view.next() => {
                let Some(frame) = frame.unwrap() else {
                    let _ = socket.close(None).await;
                    return;
                };
                for message in messages(frame) {
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

fn messages(frame: Frame) -> Vec<Message> {
    let word = |word| Message::text(serde_json::to_string(&word).unwrap());
    let output = |from: u64, bytes: Vec<u8>| Message::binary([from.to_be_bytes().to_vec(), bytes].concat());
    match frame {
        Frame::Keyframe { size: (columns, rows), from, bytes } => {
            vec![word(FromServer::Keyframe { columns, rows }), output(from, bytes)]
        }
        Frame::Output { from, bytes } => vec![output(from, bytes)],
        Frame::Control { yours } => vec![word(FromServer::Control { yours })],
        Frame::Ended { code } => vec![word(FromServer::Ended { code })],
    }
}
