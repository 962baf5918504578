//! The main loop of a shim: one wait for the program, its children, the daemon and the viewers.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use ao_core::Timestamp;
use ao_process::{Redactor, Secrets};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use signal_hook::consts::SIGCHLD;

use super::ShimSpec;
use super::input::InputQueue;
use super::peer::{PeerRole, ShimPeer};
use super::program::HeldProgram;
use super::terminal::{EmulatedTerminal, TerminalSize};
use super::viewer::{self, ViewerSource};
use crate::host::{AttemptDir, ProcessRecord, ProgramExit, files};
use crate::process::attempt_dir::SOCKET;
use crate::process::protocol::ShimMessage;
use crate::recording::OutputWriter;

/// Bytes read before other events get their turn.
const TURN: usize = 256 * 1024;
/// Bytes read at once. Also the buffer for all other reads.
const SPACE: usize = 64 * 1024;
/// Time that clients get to read the last messages, after everything has ended.
const GOODBYE: Duration = Duration::from_secs(1);

pub(super) struct ProgramHolder {
    pub(super) attempt_dir: AttemptDir,
    pub(super) record: ProcessRecord,
    pub(super) program: HeldProgram,
    pub(super) terminal: Option<EmulatedTerminal>,
    pub(super) kept: OutputWriter,
    /// The output that people are shown of a program on pipes: both of its streams.
    pub(super) log: Option<OutputWriter>,
    /// Masks secrets in the recorded output, and so in everything that is shown.
    pub(super) redactor: Redactor,
    pub(super) errors_redactor: Redactor,
    /// The time at which held-back bytes, which may become a secret, are shown in part.
    pub(super) easing: Option<Instant>,
    /// The offset up to which the terminal has processed the output. It catches up when a client needs the screen, and
    /// when there is time.
    pub(super) fed: u64,
    pub(super) input: InputQueue,
    pub(super) peers: Vec<ShimPeer>,
    pub(super) exit: Option<ProgramExit>,
    pub(super) typed: Option<Timestamp>,
    pub(super) ending: Option<super::ending::EndRequest>,
    /// Nothing runs below us any more.
    pub(super) is_childless: bool,
    pub(super) listener: UnixListener,
    /// Readable when a child has ended.
    pub(super) children: UnixStream,
    pub(super) space: Vec<u8>,
    pub(super) output_is_open: bool,
    pub(super) errors_are_open: bool,
    next_peer: u64,
    pub(super) leaving: Option<Instant>,
    /// Held for as long as we live.
    _lock: OwnedFd,
}

impl ProgramHolder {
    pub(super) fn new(
        attempt_dir: AttemptDir,
        record: ProcessRecord,
        program: HeldProgram,
        listener: UnixListener,
        spec: &ShimSpec,
        lock: OwnedFd,
    ) -> io::Result<ProgramHolder> {
        let (children, wake) = UnixStream::pair()?;
        children.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, wake)?;
        let kept = OutputWriter::new(attempt_dir.output(), spec.keep)?;
        let has_log = program.errors().is_some();
        let log = has_log.then(|| OutputWriter::new(attempt_dir.log(), spec.keep)).transpose()?;
        let terminal = spec.terminal.map(|size| EmulatedTerminal::new(TerminalSize(size.0, size.1).sane()));
        let secrets =
            Secrets::new(spec.secrets.iter().map(|(name, value)| (name.as_str(), value.as_encoded_bytes())));
        let mut holder = ProgramHolder {
            attempt_dir,
            record,
            program,
            terminal,
            kept,
            log,
            redactor: Redactor::of(secrets.clone()),
            errors_redactor: Redactor::of(secrets),
            easing: None,
            fed: 0,
            input: InputQueue::default(),
            peers: Vec::new(),
            exit: None,
            typed: None,
            ending: None,
            is_childless: false,
            listener,
            children,
            space: vec![0; SPACE],
            output_is_open: true,
            errors_are_open: true,
            next_peer: 0,
            leaving: None,
            _lock: lock,
        };
        holder.cut();
        Ok(holder)
    }

    /// Runs until nothing is left to hold.
    pub(super) fn run(mut self) -> io::Result<()> {
        // The program may have ended before the signal handler was in place.
        self.reap();
        while !self.has_left() {
            let ready = self.wait()?;
            self.ease();
            if ready.nothing {
                self.catch_up();
            }
            if ready.output {
                self.read_output(TURN);
            }
            if ready.errors {
                self.read_errors();
            }
            if ready.children {
                while self.children.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
                self.reap();
            }
            for id in ready.peers {
                self.serve(id);
            }
            if ready.listener {
                self.accept();
            }
            self.write_input();
            self.go_on_ending();
            self.show();
        }
        self.attempt_dir.keep_left().map_err(io::Error::other)?;
        let (_dir, path) = files::socket(self.attempt_dir.dir(), SOCKET)?;
        std::fs::remove_file(path)
    }

    fn has_left(&mut self) -> bool {
        if self.exit.is_none() || !self.is_childless || self.ending.is_some() {
            return false;
        }
        let until = *self.leaving.get_or_insert_with(|| Instant::now() + GOODBYE);
        let offset = self.log.as_ref().unwrap_or(&self.kept).offset();
        let is_done = |peer: &ShimPeer| match &peer.role {
            PeerRole::Viewer(viewer) => viewer.is_done(offset) && !peer.is_behind(),
            _ => !peer.is_behind(),
        };
        self.peers.iter().all(is_done) || Instant::now() >= until
    }

    /// Reaps all children that have ended.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.record.pid => {
                    self.exited(ProgramExit::now(status.exit_status(), status.terminating_signal()));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => {
                    self.is_childless = true;
                    break;
                }
            }
        }
    }

    /// Reads the remaining output first, then writes the exit to disk, and only then reports it.
    fn exited(&mut self, exit: ProgramExit) {
        // All of it was written before the end; more than this is the flood of another process.
        self.read_output(16 << 20);
        self.read_errors();
        self.finish_output();
        let _ = self.attempt_dir.keep_exit(exit);
        self.exit = Some(exit);
        for asker in self.input.give_up() {
            self.tell(asker, &ShimMessage::Failed { why: super::serve::ENDED.into() });
        }
        for peer in &mut self.peers {
            if matches!(peer.role, PeerRole::Subscriber { .. }) {
                peer.say(&ShimMessage::Exited { exit }, &[]);
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.next_peer += 1;
            if let Ok(Some(peer)) = ShimPeer::new(self.next_peer, stream) {
                self.peers.push(peer);
                self.serve(self.next_peer);
            }
        }
    }

    fn serve(&mut self, id: u64) {
        let mut space = std::mem::take(&mut self.space);
        let asked = self.peers.iter_mut().find(|peer| peer.id == id).map(|peer| peer.receive(&mut space));
        self.space = space;
        for (ask, bytes) in asked.into_iter().flatten() {
            self.answer(id, ask, bytes);
        }
    }

    fn write_input(&mut self) {
        if self.input.is_empty() {
            return;
        }
        let Some(to) = self.program.input() else { return };
        match self.input.send(to) {
            Ok(written) => {
                for (asker, again) in written {
                    self.tell(asker, &ShimMessage::Written { again });
                }
            }
            Err(_) => {
                for asker in self.input.give_up() {
                    self.tell(asker, &ShimMessage::Failed { why: super::serve::CLOSED.into() });
                }
            }
        }
    }

    /// Sends every client its pending messages, and drops those that are gone.
    fn show(&mut self) {
        let terminal = self.terminal.as_ref().map(|terminal| (terminal, self.fed));
        let kept = self.log.as_ref().unwrap_or(&self.kept);
        let show = ViewerSource { kept, terminal, exit: self.exit };
        let offset = self.kept.offset();
        for peer in &mut self.peers {
            match &mut peer.role {
                PeerRole::Viewer(_) => viewer::pump(peer, show, &mut self.space),
                PeerRole::Subscriber { beyond, .. } if beyond.is_some_and(|beyond| offset > beyond) => {
                    *beyond = None;
                    peer.say(&ShimMessage::Offset { offset }, &[]);
                    peer.flush();
                }
                _ => peer.flush(),
            }
            peer.rest();
        }
        self.peers.retain(|peer| !peer.is_gone);
    }

    pub(super) fn tell(&mut self, id: u64, say: &ShimMessage) {
        if let Some(peer) = self.peers.iter_mut().find(|peer| peer.id == id) {
            peer.say(say, &[]);
        }
    }
}
