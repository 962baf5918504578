//! The terminal of a session over a WebSocket. Output is sent no faster than the viewer takes it, and no buffer grows
//! for a slow viewer.

use std::time::Duration;

use ao_api::Problem;
use ao_api::terminal::{FromServer, FromViewer, WINDOW};
use ao_ports::{Frame, RuntimeError, TerminalView, ViewOptions};
use axum::extract::ws::{
    CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection,
};
use axum::response::Response;
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::extract::{Asked, SessionCall, SessionName};
use crate::problem::Failure;

/// The maximum size of one input message: more than anyone types, enough to paste.
const TYPED_MOST: usize = 1024 * 1024;
/// The time after which a viewer that takes no output is disconnected.
const SEND_MOST: Duration = Duration::from_secs(30);
const PING_EVERY: Duration = Duration::from_secs(20);
/// The time after which a silent viewer is disconnected.
const SILENCE_MOST: Duration = Duration::from_secs(60);
/// The refusal of a viewer that may not type.
const READ_ONLY: &str = "this view is for looking only";
const HISTORY_MOST: u64 = 16 * 1024 * 1024;

/// The options of a view.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct How {
    /// Columns of the viewer's window. Used together with `rows`.
    columns: Option<u16>,
    rows: Option<u16>,
    /// Takes control: sets the size of the terminal, and may type.
    control: Option<bool>,
    /// The number of bytes of earlier output to send.
    history: Option<u64>,
}

/// Opens a terminal. The documentation describes the protocol.
#[utoipa::path(
    get, path = "/api/sessions/{id}/terminal", tag = "output",
    params(SessionName, How),
    responses((status = 101, description = "The connection is a WebSocket from here on")),
)]
pub(super) async fn terminal(
    SessionCall { app, caller, session }: SessionCall,
    Asked(how): Asked<How>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade.map_err(|err| {
        Problem::new(426, "no-websocket", format!("a terminal is a WebSocket: {}", err.body_text()))
            .hint("`ao attach` opens one; `GET …/output` has what was put out")
    })?;
    let may_type = caller == Caller::Owner;
    let options = ViewOptions {
        size: how.columns.zip(how.rows).filter(|(columns, rows)| *columns > 0 && *rows > 0),
        control: how.control == Some(true) && may_type,
        history: how.history.unwrap_or(0).min(HISTORY_MOST),
    };
    let view = app.daemon.terminals.attach(&session, options).await?;
    let open = app.metrics.terminals.one();
    let (id, tasks) = (session.id, app.tasks.clone());
    let upgrade = upgrade.max_message_size(TYPED_MOST).max_frame_size(TYPED_MOST).write_buffer_size(0);
    Ok(upgrade.on_upgrade(move |socket| {
        tasks.track_future(async move {
            let mut terminal =
                Terminal { socket, view, flow: Flow::default(), may_type, heard: Instant::now() };
            let ended = tokio::select! {
                () = app.stop.cancelled() => Err("the daemon ends"),
                ended = terminal.show() => ended,
            };
            tracing::debug!(session = %id, ?ended, "a view of a terminal ends");
            terminal.close(ended.err()).await;
            drop(open);
        })
    }))
}

struct Terminal {
    socket: WebSocket,
    view: Box<dyn TerminalView>,
    flow: Flow,
    may_type: bool,
    /// The time of the last message of the viewer.
    heard: Instant,
}

/// The reason a view ended early.
type Ended = Result<(), &'static str>;

impl Terminal {
    async fn show(&mut self) -> Ended {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                said = self.socket.recv() => match said {
                    Some(Ok(said)) => self.hear(said).await?,
                    Some(Err(_)) | None => return Ok(()),
                },
                // While the viewer is behind, nothing is fetched for it. The view drops what it misses, and starts
                // again with the whole terminal on the next request.
                frame = self.view.next(), if self.flow.is_open() => match frame {
                    Ok(Some(frame)) => self.tell(frame).await?,
                    Ok(None) => return Ok(()),
                    Err(err) => {
                        self.say(&FromServer::Refused { why: err.to_string() }).await?;
                        return Err("the terminal cannot be shown any longer");
                    }
                },
                _ = ping.tick() => {
                    if self.heard.elapsed() > SILENCE_MOST {
                        return Err("nothing was heard for a minute");
                    }
                    self.send(Message::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    async fn tell(&mut self, frame: Frame) -> Ended {
        match frame {
            Frame::Keyframe { size: (columns, rows), from, bytes } => {
                self.flow.keyframe(from, bytes.len());
                self.say(&FromServer::Keyframe { columns, rows }).await?;
                self.send(output(from, &bytes)).await
            }
            Frame::Output { from, bytes } => {
                self.flow.output(from, bytes.len());
                self.send(output(from, &bytes)).await
            }
            Frame::Control { yours } => self.say(&FromServer::Control { yours }).await,
            Frame::Ended { code } => self.say(&FromServer::Ended { code }).await,
        }
    }

    async fn hear(&mut self, said: Message) -> Ended {
        self.heard = Instant::now();
        let done = match said {
            Message::Binary(_) if !self.may_type => Err(READ_ONLY.to_owned()),
            Message::Binary(bytes) => self.view.type_bytes(&bytes).await.map_err(text),
            Message::Text(word) => match serde_json::from_str(&word) {
                Ok(FromViewer::Shown { offset }) => {
                    self.flow.shown(offset);
                    Ok(())
                }
                Ok(FromViewer::Resize { columns, rows }) if columns > 0 && rows > 0 => {
                    if self.may_type {
                        self.view.resize((columns, rows)).await.map_err(text)
                    } else {
                        Err(READ_ONLY.to_owned())
                    }
                }
                Ok(FromViewer::Resize { .. }) => {
                    Err("a terminal has at least one row and one column".to_owned())
                }
                Ok(FromViewer::Control { take }) => {
                    if self.may_type {
                        self.view.control(take).await.map_err(text)
                    } else {
                        Err(READ_ONLY.to_owned())
                    }
                }
                Err(err) => Err(format!("not a message of a viewer: {err}")),
            },
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Ok(()),
        };
        match done {
            Ok(()) => Ok(()),
            Err(why) => self.say(&FromServer::Refused { why }).await,
        }
    }

    async fn say(&mut self, word: &FromServer) -> Ended {
        let json = serde_json::to_string(word).expect("a word of ours is plain data");
        self.send(Message::Text(json.into())).await
    }

    async fn send(&mut self, message: Message) -> Ended {
        match timeout(SEND_MOST, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err("the connection broke"),
            Err(_) => Err("the viewer took nothing for too long"),
        }
    }

    async fn close(mut self, why: Option<&'static str>) {
        let (code, reason) = match why {
            None => (close_code::NORMAL, ""),
            Some(why) => (close_code::AWAY, why),
        };
        let bye = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        // The other end may be gone already.
        let _ = timeout(Duration::from_secs(1), self.socket.send(bye)).await;
    }
}

fn text(err: RuntimeError) -> String {
    err.to_string()
}

fn output(from: u64, bytes: &[u8]) -> Message {
    let mut message = Vec::with_capacity(8 + bytes.len());
    message.extend_from_slice(&from.to_be_bytes());
    message.extend_from_slice(bytes);
    Message::Binary(message.into())
}

/// The amount of output that was sent but not shown yet.
#[derive(Debug, Default)]
struct Flow {
    /// The offset after the last byte that was sent.
    sent: u64,
    shown: u64,
    /// The size of the last keyframe, until the viewer has acknowledged it.
    keyframe: u64,
}

impl Flow {
    fn is_open(&self) -> bool {
        (self.sent - self.shown).saturating_add(self.keyframe) < WINDOW
    }

    /// Records a keyframe. It replaces all output before it, so earlier bytes no longer count.
    fn keyframe(&mut self, from: u64, bytes: usize) {
        self.sent = from;
        self.shown = from;
        self.keyframe = bytes as u64;
    }

    fn output(&mut self, from: u64, bytes: usize) {
        self.sent = self.sent.max(from.saturating_add(bytes as u64));
    }

    fn shown(&mut self, offset: u64) {
        if offset >= self.shown {
            // A viewer cannot have shown more than was sent.
            self.shown = offset.min(self.sent);
            self.keyframe = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_closes_when_the_viewer_is_behind_and_opens_when_it_says_so() {
        let mut flow = Flow::default();
        flow.keyframe(1000, 5000);
        assert!(flow.is_open());
        flow.output(1000, WINDOW as usize);
        assert!(!flow.is_open());
        flow.shown(1000);
        assert!(!flow.is_open(), "the keyframe was shown and nothing behind it");
        flow.shown(2000);
        assert!(flow.is_open());
        flow.shown(u64::MAX);
        assert_eq!(flow.shown, flow.sent);
    }

    #[test]
    fn a_keyframe_larger_than_the_window_is_waited_for() {
        let mut flow = Flow::default();
        flow.keyframe(7, 2 * WINDOW as usize);
        assert!(!flow.is_open());
        flow.shown(6);
        assert!(!flow.is_open(), "that was said of what came before");
        flow.shown(7);
        assert!(flow.is_open());
    }
}
