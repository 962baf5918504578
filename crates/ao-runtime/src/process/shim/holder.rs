//! The loop of a shim: one wait for the program, its children, the daemon and the viewers.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use ao_core::Timestamp;
use ao_process::{Redactor, Secrets};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use signal_hook::consts::SIGCHLD;

use super::Spec;
use super::input::Input;
use super::peer::{Peer, Role};
use super::program::Program;
use super::terminal::{Size, Terminal};
use super::viewer::{self, Show};
use crate::host::{Exit, Place, Record, files};
use crate::kept::Writer;
use crate::process::place::SOCKET;
use crate::process::protocol::Say;

/// How much is read before anything else gets its turn.
const TURN: usize = 256 * 1024;
/// How much is read at once. Also the space for everything else that is read.
const SPACE: usize = 64 * 1024;
/// How long those who look may take to hear the last words, after everything has ended.
const GOODBYE: Duration = Duration::from_secs(1);

pub(super) struct Holder {
    pub(super) place: Place,
    pub(super) record: Record,
    pub(super) program: Program,
    pub(super) terminal: Option<Terminal>,
    pub(super) kept: Writer,
    /// What people are shown of a program on pipes: both of its streams.
    pub(super) log: Option<Writer>,
    /// Keeps secrets out of what is kept, and so out of all that is shown.
    pub(super) redactor: Redactor,
    pub(super) errors_redactor: Redactor,
    /// When what is held back, because it may become a secret, is shown in part.
    pub(super) easing: Option<Instant>,
    /// How far the terminal has taken the output. It catches up when somebody wants to see it, and when there is time.
    pub(super) fed: u64,
    pub(super) input: Input,
    pub(super) peers: Vec<Peer>,
    pub(super) exit: Option<Exit>,
    pub(super) typed: Option<Timestamp>,
    pub(super) ending: Option<super::ending::Ending>,
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

impl Holder {
    pub(super) fn new(
        place: Place,
        record: Record,
        program: Program,
        listener: UnixListener,
        spec: &Spec,
        lock: OwnedFd,
    ) -> io::Result<Holder> {
        let (children, wake) = UnixStream::pair()?;
        children.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, wake)?;
        let kept = Writer::new(place.output(), spec.keep)?;
        let has_log = program.errors().is_some();
        let log = has_log.then(|| Writer::new(place.log(), spec.keep)).transpose()?;
        let terminal = spec.terminal.map(|size| Terminal::new(Size(size.0, size.1).sane()));
        let secrets =
            Secrets::new(spec.secrets.iter().map(|(name, value)| (name.as_str(), value.as_encoded_bytes())));
        let mut holder = Holder {
            place,
            record,
            program,
            terminal,
            kept,
            log,
            redactor: Redactor::of(secrets.clone()),
            errors_redactor: Redactor::of(secrets),
            easing: None,
            fed: 0,
            input: Input::default(),
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

    /// Holds until nothing is left to hold.
    pub(super) fn run(mut self) -> io::Result<()> {
        // It may have ended before we could be told.
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
        self.place.keep_left().map_err(io::Error::other)?;
        let (_dir, path) = files::socket(self.place.dir(), SOCKET)?;
        std::fs::remove_file(path)
    }

    fn has_left(&mut self) -> bool {
        if self.exit.is_none() || !self.is_childless || self.ending.is_some() {
            return false;
        }
        let until = *self.leaving.get_or_insert_with(|| Instant::now() + GOODBYE);
        let offset = self.log.as_ref().unwrap_or(&self.kept).offset();
        let is_done = |peer: &Peer| match &peer.role {
            Role::Viewer(viewer) => viewer.is_done(offset) && !peer.is_behind(),
            _ => !peer.is_behind(),
        };
        self.peers.iter().all(is_done) || Instant::now() >= until
    }

    /// Takes notice of all that has ended below us.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.record.pid => {
                    self.exited(Exit::now(status.exit_status(), status.terminating_signal()));
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

    /// First its last words, then the exit on disk, and only then anybody is told.
    fn exited(&mut self, exit: Exit) {
        // All of it was written before the end; more than this is somebody else's flood.
        self.read_output(16 << 20);
        self.read_errors();
        self.finish_output();
        let _ = self.place.keep_exit(exit);
        self.exit = Some(exit);
        for asker in self.input.give_up() {
            self.tell(asker, &Say::Failed { why: super::serve::ENDED.into() });
        }
        for peer in &mut self.peers {
            if matches!(peer.role, Role::Subscriber { .. }) {
                peer.say(&Say::Exited { exit }, &[]);
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.next_peer += 1;
            if let Ok(Some(peer)) = Peer::new(self.next_peer, stream) {
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
            Ok(told) => {
                for (asker, again) in told {
                    self.tell(asker, &Say::Written { again });
                }
            }
            Err(_) => {
                for asker in self.input.give_up() {
                    self.tell(asker, &Say::Failed { why: super::serve::CLOSED.into() });
                }
            }
        }
    }

    /// Sends everybody what there is for them, and forgets who is gone.
    fn show(&mut self) {
        let terminal = self.terminal.as_ref().map(|terminal| (terminal, self.fed));
        let kept = self.log.as_ref().unwrap_or(&self.kept);
        let show = Show { kept, terminal, exit: self.exit };
        let offset = self.kept.offset();
        for peer in &mut self.peers {
            match &mut peer.role {
                Role::Viewer(_) => viewer::pump(peer, show, &mut self.space),
                Role::Subscriber { beyond, .. } if beyond.is_some_and(|beyond| offset > beyond) => {
                    *beyond = None;
                    peer.say(&Say::Offset { offset }, &[]);
                    peer.flush();
                }
                _ => peer.flush(),
            }
            peer.rest();
        }
        self.peers.retain(|peer| !peer.is_gone);
    }

    pub(super) fn tell(&mut self, id: u64, say: &Say) {
        if let Some(peer) = self.peers.iter_mut().find(|peer| peer.id == id) {
            peer.say(say, &[]);
        }
    }
}
