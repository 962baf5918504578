//! A viewer at a terminal, from attaching to leaving.
//!
//! ```text
//!  keys ─► finder ─► connection ─► daemon        with control, the window's size goes the same way
//!  window ◄─ screen ◄─ connection ◄─ daemon      without it, as much as fits is shown above a status line
//! ```

use std::io::Read;
use std::thread;
use std::time::Duration;

use ao_api::Session;
use ao_api::client::{Client, ClientError, TerminalFrame};
use ao_api::terminal::{FromServer, FromViewer};
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::connection::TerminalConnection;
use super::detach_keys::{DetachKeys, KeyFinder, TypedInput};
use super::own_terminal::OwnTerminal;
use super::screen::ViewerScreen;
use crate::error::{CommandError, FailureKind};

/// Interval of redraws while the screen changes.
const FRAME: Duration = Duration::from_millis(30);
/// Time for which the line with the detach keys is shown.
const WELCOME: Duration = Duration::from_secs(2);
/// Time to wait for a daemon that has gone, which may be an upgrade.
const GONE: Duration = Duration::from_secs(60);
const FIRST_TRY: Duration = Duration::from_millis(100);
const LAST_TRY: Duration = Duration::from_secs(2);
/// Takes control back, ctrl-t: a letter could be part of a text that the viewer was typing when control was lost.
const TAKE: u8 = 0x14;
const READ: usize = 64 * 1024;

/// The reason why a viewer left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaveReason {
    Detached,
    Ended(Option<i32>),
    /// The daemon ended the view.
    Closed,
}

pub(super) struct AttachedView {
    client: Client,
    /// Attached by id, so that no other session's terminal appears after the daemon was away.
    session: Session,
    read_only: bool,
    keys: KeyFinder,
    keys_name: String,
    connection: TerminalConnection,
    terminal: OwnTerminal,
    typed: mpsc::Receiver<Vec<u8>>,
    screen: ViewerScreen,
    standing: ControlState,
    /// The next output is the whole state, for a terminal of this size.
    keyframe: Option<(u16, u16)>,
    /// Time of the next redraw, if the screen is stale.
    draw_at: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ControlState {
    /// Has control, and sees the detach keys.
    Welcome {
        until: Instant,
    },
    Control,
    Looks,
    /// Had control, and another viewer took it.
    Lost,
    Waits {
        until: Instant,
    },
}

impl AttachedView {
    /// Connects first, so that a refusal is printed before the screen changes.
    pub(super) async fn enter(
        client: Client,
        session: Session,
        read_only: bool,
        keys: DetachKeys,
    ) -> Result<AttachedView, CommandError> {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
        let size = size.map(|size| (size.ws_col, size.ws_row)).filter(|size| size.0 > 0 && size.1 > 0);
        let size = size.unwrap_or((80, 24));
        let connection = TerminalConnection::connect(&client, &session.id, &query(size, !read_only)).await?;
        let terminal = OwnTerminal::take().map_err(|err| terminal_failed(&err))?;
        let standing = if read_only {
            ControlState::Looks
        } else {
            ControlState::Welcome { until: Instant::now() + WELCOME }
        };
        let keys_name = keys.name().to_owned();
        let mut room = AttachedView {
            client,
            session,
            read_only,
            keys: KeyFinder::new(keys),
            keys_name,
            connection,
            terminal,
            typed: read_keys(),
            screen: ViewerScreen::new(size),
            standing: standing.clone(),
            keyframe: None,
            draw_at: Instant::now(),
        };
        room.stand(standing)?;
        Ok(room)
    }

    pub(super) async fn stay(&mut self) -> Result<LeaveReason, CommandError> {
        let on = |kind| signal(kind).map_err(CommandError::environment);
        let mut resized = on(SignalKind::window_change())?;
        let mut stopped = on(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        let (mut ended, mut hung_up, mut interrupted) =
            (on(SignalKind::terminate())?, on(SignalKind::hangup())?, on(SignalKind::interrupt())?);
        loop {
            let alarm = match self.standing {
                ControlState::Welcome { until } => Some(until),
                _ => None,
            };
            let draw_at = Some(self.draw_at).filter(|_| self.screen.is_stale());
            let left = tokio::select! {
                _ = ended.recv() => return Err(gone(Signal::TERM)),
                _ = hung_up.recv() => return Err(gone(Signal::HUP)),
                _ = interrupted.recv() => return Err(gone(Signal::INT)),
                _ = stopped.recv() => self.stop()?,
                _ = resized.recv() => self.resize()?,
                typed = self.typed.recv(), if self.connection.has_room() => match typed {
                    Some(typed) => self.type_bytes(&typed)?,
                    // The terminal is gone.
                    None => Some(LeaveReason::Detached),
                },
                said = self.connection.next() => match said {
                    Ok(Some(said)) => self.hear(said)?,
                    Ok(None) => Some(LeaveReason::Closed),
                    Err(_) => tokio::select! {
                        waited = self.wait() => waited?,
                        _ = ended.recv() => return Err(gone(Signal::TERM)),
                        _ = hung_up.recv() => return Err(gone(Signal::HUP)),
                        _ = interrupted.recv() => return Err(gone(Signal::INT)),
                    },
                },
                () = at(draw_at) => {
                    self.draw_at = Instant::now() + FRAME;
                    let out = self.screen.draw();
                    self.show(&out)?;
                    None
                }
                () = at(alarm) => {
                    self.stand(ControlState::Control)?;
                    None
                }
            };
            if let Some(left) = left {
                if left == LeaveReason::Detached {
                    self.hand_back();
                }
                return Ok(left);
            }
        }
    }

    fn hear(&mut self, said: TerminalFrame) -> Result<Option<LeaveReason>, CommandError> {
        match said {
            TerminalFrame::Control(FromServer::Keyframe { columns, rows }) => {
                self.keyframe = Some((columns, rows));
            }
            TerminalFrame::Control(FromServer::Ended { code }) => return Ok(Some(LeaveReason::Ended(code))),
            TerminalFrame::Control(FromServer::Control { yours: true })
                if self.standing == ControlState::Lost =>
            {
                self.stand(ControlState::Control)?;
            }
            TerminalFrame::Control(FromServer::Control { yours: false }) if self.has_control() => {
                self.stand(ControlState::Lost)?;
            }
            // A refusal is about bytes typed while control moved to another viewer, which is reported as well.
            TerminalFrame::Control(_) => {}
            TerminalFrame::Output { from, bytes } => {
                let (out, shown) = match self.keyframe.take() {
                    Some(size) => (self.screen.keyframe(size, &bytes), from),
                    None => (self.screen.output(&bytes), from + bytes.len() as u64),
                };
                self.show(&out)?;
                self.connection.send(FromViewer::Shown { offset: shown });
            }
        }
        Ok(None)
    }

    fn type_bytes(&mut self, typed: &[u8]) -> Result<Option<LeaveReason>, CommandError> {
        for piece in self.keys.sort(typed) {
            let bytes = match piece {
                TypedInput::Detach => return Ok(Some(LeaveReason::Detached)),
                TypedInput::Bytes(bytes) => bytes,
            };
            if self.has_control() {
                self.stand(ControlState::Control)?;
                self.connection.type_bytes(&bytes);
            } else if self.standing == ControlState::Looks && bytes.contains(&b'q') {
                return Ok(Some(LeaveReason::Detached));
            } else if self.standing == ControlState::Lost && bytes.contains(&TAKE) {
                self.connection.send(FromViewer::Control { take: true });
                let (columns, rows) = self.terminal.size();
                self.connection.send(FromViewer::Resize { columns, rows });
            }
        }
        Ok(None)
    }

    fn resize(&mut self) -> Result<Option<LeaveReason>, CommandError> {
        let (columns, rows) = self.terminal.size();
        let out = self.screen.set_window((columns, rows));
        self.show(&out)?;
        if !self.read_only {
            self.connection.send(FromViewer::Resize { columns, rows });
        }
        Ok(None)
    }

    /// Suspends the process; the terminal is the shell's meanwhile.
    fn stop(&mut self) -> Result<Option<LeaveReason>, CommandError> {
        self.terminal.give_back();
        kill_process(getpid(), Signal::STOP).map_err(|err| terminal_failed(&err.into()))?;
        // Resumed here.
        self.terminal.take_again().map_err(|err| terminal_failed(&err))?;
        let out = self.screen.again();
        self.show(&out)?;
        self.resize()
    }

    /// Waits for the daemon's successor, which has the same agents.
    async fn wait(&mut self) -> Result<Option<LeaveReason>, CommandError> {
        let control = self.has_control();
        let until = Instant::now() + GONE;
        self.stand(ControlState::Waits { until })?;
        let out = self.screen.draw();
        self.show(&out)?;
        let mut pause = FIRST_TRY;
        loop {
            let query = query(self.terminal.size(), control);
            match TerminalConnection::connect(&self.client, &self.session.id, &query).await {
                Ok(connection) => {
                    (self.connection, self.keyframe) = (connection, None);
                    let standing = match (control, self.read_only) {
                        (true, _) => ControlState::Control,
                        (false, true) => ControlState::Looks,
                        (false, false) => ControlState::Lost,
                    };
                    self.stand(standing)?;
                    return self.resize();
                }
                // A daemon that starts or stops refuses with another status.
                Err(ClientError::Refused(problem)) if problem.status < 500 => return Err((*problem).into()),
                Err(err) if Instant::now() >= until => return Err(err.into()),
                Err(_) => {}
            }
            let again = Instant::now() + pause;
            pause = (pause * 2).min(LAST_TRY);
            // The viewer can leave instead of waiting.
            while let Ok(Some(typed)) = timeout_at(again, self.typed.recv()).await {
                if let Some(left) = self.type_bytes(&typed)? {
                    return Ok(Some(left));
                }
            }
            let out = self.screen.set_window(self.terminal.size());
            self.show(&out)?;
            let out = self.screen.draw();
            self.show(&out)?;
        }
    }

    fn has_control(&self) -> bool {
        matches!(self.standing, ControlState::Welcome { .. } | ControlState::Control)
    }

    fn stand(&mut self, standing: ControlState) -> Result<(), CommandError> {
        self.standing = standing;
        let (name, keys) = (&self.session.name, &self.keys_name);
        let line = match &self.standing {
            ControlState::Welcome { .. } => Some(format!("{name} · {keys} detaches")),
            ControlState::Control => None,
            ControlState::Looks => Some(format!("{name} · read-only · {keys}, or q, detaches")),
            ControlState::Lost => {
                Some(format!("another viewer has control · ctrl-t takes it back · {keys} detaches"))
            }
            ControlState::Waits { .. } => Some(format!("the daemon is gone; waiting… · {keys} detaches")),
        };
        let out = self.screen.set_line(line);
        self.show(&out)
    }

    fn show(&self, out: &[u8]) -> Result<(), CommandError> {
        if out.is_empty() {
            return Ok(());
        }
        self.terminal.write(out).map_err(|err| terminal_failed(&err))
    }

    /// Gives control back. Closing the connection does that too; this is sooner and explicit.
    fn hand_back(&mut self) {
        if self.has_control() {
            self.connection.send(FromViewer::Control { take: false });
        }
    }

    pub(super) async fn leave(self) {
        let AttachedView { connection, terminal, .. } = self;
        drop(terminal);
        connection.close().await;
    }
}

fn query((columns, rows): (u16, u16), control: bool) -> String {
    format!("columns={columns}&rows={rows}&control={control}")
}

/// Waits until a time; for ever without one.
async fn at(then: Option<Instant>) {
    match then {
        Some(then) => sleep_until(then).await,
        None => std::future::pending().await,
    }
}

/// Reads typed bytes in a thread of its own, which ends with the program: reading a terminal cannot be cancelled.
fn read_keys() -> mpsc::Receiver<Vec<u8>> {
    // One piece ahead; the terminal holds the rest.
    let (typed, taken) = mpsc::channel(1);
    thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut space = vec![0; READ];
        loop {
            match stdin.read(&mut space) {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    if typed.blocking_send(space[..count].to_vec()).is_err() {
                        return;
                    }
                }
            }
        }
    });
    taken
}

fn gone(signal: Signal) -> CommandError {
    let number = u8::try_from(signal.as_raw()).unwrap_or_default();
    CommandError::new(
        FailureKind::Interrupted(number),
        "the view was ended by a signal; the agent keeps running",
    )
}

fn terminal_failed(err: &std::io::Error) -> CommandError {
    CommandError::environment(format!("this terminal cannot be used: {err}"))
}
