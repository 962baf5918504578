//! A view of the terminal of an agent in tmux, by a client of tmux on a terminal of our own.
//!
//! A viewer without control gets a read-only client whose size has no effect, on a terminal just as large as the agent's.
//! With control it is a client as a person would start it, and the agent's terminal is as large as the viewer's window. If
//! the viewer is slow, the client is not read, and then tmux itself drops output and draws anew.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_ports::{Frame, ProcessRef, RuntimeError, TerminalView, ViewOptions};
use ao_process::Redactor;
use async_trait::async_trait;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout};

use super::pty::Pty;
use super::runtime::SharedTmux;
use super::{life, output, past_view, screen};
use crate::host::viewers::{SharedTerminal, Size};

/// How often it is asked how large the terminal is now, and whether the program lives. tmux tells neither.
const ASK: Duration = Duration::from_secs(1);
/// Output that comes with the end is on its way for no longer than this.
const SETTLE: Duration = Duration::from_millis(200);
/// tmux reads what is typed at once; one that does not is stuck.
const TYPE: Duration = Duration::from_secs(5);
const PIECE: usize = 16 * 1024;

/// Brings the viewer's terminal into a known state, without its scrollback being lost. tmux draws all the rest.
pub(super) const CLEAN: &[u8] = b"\x1b[?1049l\x1b[?6l\x1b[?7h\x1b[4l\x1b[r\x1b[0m\x1b(B\x0f\x1b[H\x1b[2J";

struct TmuxView {
    tmux: Arc<SharedTmux>,
    process: ProcessRef,
    client: Option<Pty>,
    /// tmux knows of no secrets, so they are kept from its viewers here.
    redactor: Redactor,
    /// The size of the client's terminal.
    size: Size,
    window: Option<Size>,
    has_control: bool,
    number: u64,
    shared: Arc<SharedTerminal>,
    holder: watch::Receiver<u64>,
    /// How much the clients have put out.
    at: u64,
    first: VecDeque<Frame>,
    ask: Interval,
    /// When the end is told, if it was seen and no more output comes.
    ending: Option<(Instant, Option<i32>)>,
}

pub(super) async fn open(
    tmux: &Arc<SharedTmux>,
    process: &ProcessRef,
    options: ViewOptions,
) -> Result<Box<dyn TerminalView>, RuntimeError> {
    if let ProcessLife::Gone { code } = life::look(tmux, process).await {
        return past_view::open(tmux, process, options.history, code).await;
    }
    let shared = tmux.host.viewers.of(tmux.find(process)?.key);
    let size = screen::screen(tmux, process).await?.size;
    let mut ask = interval_at(Instant::now() + ASK, ASK);
    ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut view = TmuxView {
        holder: shared.holder(),
        tmux: tmux.clone(),
        process: process.clone(),
        client: None,
        redactor: Redactor::default(),
        size,
        window: options.size,
        has_control: false,
        number: SharedTerminal::number(),
        shared,
        at: 0,
        first: VecDeque::new(),
        ask,
        ending: None,
    };
    if options.control {
        view.take(size)?;
    } else {
        view.start(size)?;
    }
    Ok(Box::new(view))
}

impl TmuxView {
    /// Begins anew with a client of this size, as control allows.
    fn start(&mut self, size: Size) -> Result<(), RuntimeError> {
        let flags: &[&str] = if self.has_control { &[] } else { &["-f", "ignore-size,read-only"] };
        let words = command(&self.tmux, &self.process, flags)?;
        let client = Pty::start(&words, size).map_err(|err| match err.kind() {
            std::io::ErrorKind::NotFound => RuntimeError::NoProgram { program: words[0].clone() },
            _ => RuntimeError::Failed(format!("`{}` could not be started: {err}", words[0])),
        })?;
        self.client = Some(client);
        self.redactor = Redactor::of_known();
        self.draw(size);
        Ok(())
    }

    /// All that comes next is for a terminal of this size, whatever was shown before.
    fn draw(&mut self, size: Size) {
        self.size = size;
        self.first.push_back(Frame::Keyframe { size, from: self.at, bytes: CLEAN.to_vec() });
    }

    fn take(&mut self, now: Size) -> Result<(), RuntimeError> {
        self.shared.take(self.number, now);
        self.holder.mark_unchanged();
        self.has_control = true;
        self.start(self.window.unwrap_or(now))?;
        self.first.push_back(Frame::Control { yours: true });
        Ok(())
    }

    async fn give(&mut self) -> Result<(), RuntimeError> {
        self.has_control = false;
        let natural = self.shared.hand_back(self.number);
        let client = self.client.take();
        if let Some(natural) = natural {
            back(&self.tmux, &self.process, client, natural).await;
        }
        self.first.push_back(Frame::Control { yours: false });
        // If another has control now, its size is seen when it is next asked for.
        self.start(natural.unwrap_or(self.size))
    }

    fn resize_client(&mut self, size: Size) -> Result<(), RuntimeError> {
        if let Some(client) = &self.client {
            client.resize(size).map_err(lost)?;
        }
        self.draw(size);
        Ok(())
    }

    /// Looks how large the terminal is and whether its program lives.
    async fn ask(&mut self) -> Result<(), RuntimeError> {
        let screen = match screen::screen(&self.tmux, &self.process).await {
            Ok(screen) => screen,
            Err(_) => {
                // Its pane is gone, or tmux did not answer this time.
                if let ProcessLife::Gone { code } = life::look(&self.tmux, &self.process).await {
                    self.ending.get_or_insert((Instant::now() + SETTLE, code));
                }
                return Ok(());
            }
        };
        if screen.size != self.size && !self.has_control {
            self.resize_client(screen.size)?;
        }
        let (attempt_dir, _) = self.tmux.known(&self.process)?;
        let rest = output::output(&self.tmux, attempt_dir, screen.offset, PIECE, Duration::ZERO).await?;
        if rest.ended
            && let ProcessLife::Gone { code } = life::look(&self.tmux, &self.process).await
        {
            self.ending.get_or_insert((Instant::now() + SETTLE, code));
        }
        Ok(())
    }
}

/// What a viewer waits for.
enum Happened {
    Read(usize),
    HolderChanged,
    Ask,
    Settled(Option<i32>),
}

#[async_trait]
impl TerminalView for TmuxView {
    async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        let mut space = vec![0; PIECE];
        loop {
            if let Some(frame) = self.first.pop_front() {
                return Ok(Some(frame));
            }
            let Some(client) = &self.client else { return Ok(None) };
            let ending = self.ending;
            let settled = async move {
                match ending {
                    Some((at, code)) => {
                        sleep_until(at).await;
                        code
                    }
                    None => std::future::pending().await,
                }
            };
            let happened = tokio::select! {
                // What is rare comes first, as a flood of output is always ready; the end comes after all output.
                biased;
                Ok(()) = self.holder.changed() => Happened::HolderChanged,
                _ = self.ask.tick(), if ending.is_none() => Happened::Ask,
                read = client.read(&mut space) => Happened::Read(read.map_err(lost)?),
                code = settled => Happened::Settled(code),
            };
            match happened {
                Happened::Read(0) => {
                    // The client goes when the pane does, or when the viewer has detached it by a key of tmux's.
                    // Looked at before the client is let go of: whoever gives up meanwhile reads the same end again.
                    let life = life::look(&self.tmux, &self.process).await;
                    self.client = None;
                    return Ok(match life {
                        ProcessLife::Gone { code } => Some(Frame::Ended { code }),
                        _ => None,
                    });
                }
                Happened::Read(count) => {
                    let mut bytes = self.redactor.push(&space[..count]);
                    // A viewer waits for every letter.
                    bytes.extend(self.redactor.ease());
                    let from = self.at;
                    self.at += bytes.len() as u64;
                    if let Some((at, _)) = &mut self.ending {
                        *at = Instant::now() + SETTLE;
                    }
                    if !bytes.is_empty() {
                        return Ok(Some(Frame::Output { from, bytes }));
                    }
                }
                Happened::HolderChanged => {
                    if self.has_control && *self.holder.borrow_and_update() != self.number {
                        self.give().await?;
                    }
                }
                Happened::Ask => self.ask().await?,
                Happened::Settled(code) => {
                    self.client = None;
                    return Ok(Some(Frame::Ended { code }));
                }
            }
        }
    }

    async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        let Some(client) = self.client.as_ref().filter(|_| self.has_control) else {
            return Err(RuntimeError::NoControl);
        };
        match timeout(TYPE, client.write(bytes)).await {
            Ok(written) => written.map_err(lost),
            Err(_) => Err(RuntimeError::Failed("tmux does not read what is typed".into())),
        }
    }

    async fn resize(&mut self, size: Size) -> Result<(), RuntimeError> {
        self.window = Some(size);
        if self.has_control { self.resize_client(size) } else { Ok(()) }
    }

    async fn control(&mut self, take: bool) -> Result<(), RuntimeError> {
        match (take, self.has_control) {
            (true, false) => {
                let now = screen::screen(&self.tmux, &self.process).await?.size;
                self.take(now)
            }
            (false, true) => self.give().await,
            _ => Ok(()),
        }
    }
}

impl Drop for TmuxView {
    /// Whoever goes without a word hands control back too.
    fn drop(&mut self) {
        let Some(natural) = self.shared.hand_back(self.number) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (tmux, process, client) = (self.tmux.clone(), self.process.clone(), self.client.take());
            runtime.spawn(async move { back(&tmux, &process, client, natural).await });
        }
    }
}

/// Ends the client of who had control, and gives the terminal the size it had before, or the one of whoever else is there.
async fn back(tmux: &SharedTmux, process: &ProcessRef, client: Option<Pty>, (columns, rows): Size) {
    if let Some(client) = client {
        client.end().await;
    }
    let Ok(words) = tmux.attach_command(process) else { return };
    let Some((at, target)) = words.iter().position(|word| word == "attach-session").zip(words.last()) else {
        return;
    };
    let target = format!("{target}:");
    // That a size is given by hand is forgotten at once, so that the next person who comes has a say again.
    let done = Command::new(&words[0])
        .arg("-N")
        .args(&words[1..at])
        .args(["resize-window", "-t", &target, "-x", &columns.to_string(), "-y", &rows.to_string()])
        .args([";", "set-option", "-w", "-u", "-t", &target, "window-size"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status();
    if !matches!(timeout(TYPE, done).await, Ok(Ok(status)) if status.success()) {
        tracing::debug!(process = %process, "the terminal keeps the size of its last viewer");
    }
}

/// The command of a client that starts no server, and speaks UTF-8 whatever our own language is.
fn command(tmux: &SharedTmux, process: &ProcessRef, flags: &[&str]) -> Result<Vec<String>, RuntimeError> {
    let mut words = tmux.attach_command(process)?;
    let at = words.iter().position(|word| word == "attach-session").map_or(words.len(), |at| at + 1);
    words.splice(at..at, flags.iter().map(|&flag| flag.to_owned()));
    words.splice(1..1, ["-u", "-N"].map(str::to_owned));
    Ok(words)
}

fn lost(err: std::io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("the client of tmux was lost: {err}"))
}
