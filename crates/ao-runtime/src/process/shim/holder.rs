//! The loop of a shim: one wait for the program, its children, the daemon and the viewers.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ao_core::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::Spec;
use super::input::Input;
use super::peer::{Peer, Role};
use super::program::Program;
use super::terminal::{Size, Terminal};
use super::viewer::{self, Show};
use crate::host::Record;
use crate::process::place::{Exit, Place};
use crate::process::protocol::{self, Say};
use crate::process::segments::{Keyframe, Writer};

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
    /// How far the terminal has taken the output. It catches up when somebody wants to see it, and when there is time.
    pub(super) fed: u64,
    pub(super) input: Input,
    pub(super) peers: Vec<Peer>,
    pub(super) exit: Option<Exit>,
    pub(super) typed: Option<Timestamp>,
    pub(super) ending: Option<super::ending::Ending>,
    /// Nothing runs below us any more.
    pub(super) is_childless: bool,
    listener: UnixListener,
    /// Readable when a child has ended.
    children: UnixStream,
    space: Vec<u8>,
    output_is_open: bool,
    errors_are_open: bool,
    next_peer: u64,
    leaving: Option<Instant>,
    /// Held for as long as we live.
    _lock: OwnedFd,
}

/// What a person's terminal or a stopping host sends to whole groups is not meant for us: we stay until what we hold has
/// ended. These are handlers and not `ignore`, because a program would inherit that.
pub(super) fn stand_signals() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Opens the socket, for nobody but our own user.
pub(super) fn listen(dir: &Path) -> io::Result<UnixListener> {
    let (_dir, path) = protocol::socket(dir)?;
    match std::fs::remove_file(&path) {
        Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
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
        let terminal = spec.terminal.map(|size| Terminal::new(Size(size.0, size.1).sane()));
        let mut holder = Holder {
            place,
            record,
            program,
            terminal,
            kept,
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
        let (_dir, path) = protocol::socket(self.place.dir())?;
        std::fs::remove_file(path)
    }

    fn has_left(&mut self) -> bool {
        if self.exit.is_none() || !self.is_childless || self.ending.is_some() {
            return false;
        }
        let until = *self.leaving.get_or_insert_with(|| Instant::now() + GOODBYE);
        let offset = self.kept.offset();
        let is_done = |peer: &Peer| match &peer.role {
            Role::Viewer(viewer) => viewer.is_done(offset) && !peer.is_behind(),
            _ => !peer.is_behind(),
        };
        self.peers.iter().all(is_done) || Instant::now() >= until
    }

    fn wait(&mut self) -> io::Result<Ready> {
        let until =
            [self.leaving, self.ending.as_ref().map(|ending| ending.next)].into_iter().flatten().min();
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        let mut output = PollFlags::empty();
        output.set(PollFlags::IN, self.output_is_open);
        let input = if self.input.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let mut errors = PollFlags::empty();
        errors.set(PollFlags::IN, self.errors_are_open);
        // What is wanted from nobody is not asked for: an end that is closed would be told of again and again.
        let mut fds =
            vec![PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        let mut place = |fd, flags: PollFlags| {
            (!flags.is_empty()).then(|| {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                fds.len() - 1
            })
        };
        let output = place(self.program.output(), output);
        let _ = place(self.program.input(), input);
        let errors = self.program.errors().and_then(|fd| place(fd, errors));
        let first_peer = fds.len();
        for peer in &self.peers {
            let flags = if peer.is_behind() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            fds.push(PollFd::from_borrowed_fd(peer.stream.as_fd(), flags));
        }
        // While there is something to do for others, the terminal is let wait.
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = if self.is_behind() { Some(&at_once) } else { timeout.as_ref() };
        let count = match poll(&mut fds, timeout) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(err) => return Err(err.into()),
        };
        let is_ready = |index: usize| !fds[index].revents().is_empty();
        let peers = self.peers.iter().enumerate().filter(|(index, _)| is_ready(first_peer + index));
        Ok(Ready {
            listener: is_ready(0),
            children: is_ready(1),
            output: output.is_some_and(is_ready),
            errors: errors.is_some_and(is_ready),
            peers: peers.map(|(_, peer)| peer.id).collect(),
            nothing: count == 0,
        })
    }

    /// Reads what the program has put out, at most so much.
    fn read_output(&mut self, most: usize) {
        let mut space = std::mem::take(&mut self.space);
        let mut left = most;
        while left > 0 && self.output_is_open {
            let mut count = 0;
            // A terminal gives little at a time. What follows is dearer than reading.
            while count < space.len() {
                match rustix::io::read(self.program.output(), &mut space[count..]) {
                    Ok(0) => self.output_is_open = false,
                    Ok(more) => {
                        count += more;
                        continue;
                    }
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => left = 0,
                    Err(_) => self.output_is_open = false,
                }
                break;
            }
            left = left.saturating_sub(count);
            self.keep(&space[..count]);
        }
        self.space = space;
    }

    fn keep(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.kept.is_full() {
            self.cut();
        }
        // A full disk must not stop the program. What is lost to readers is seen by its offset.
        if self.kept.append(bytes).is_err() {
            self.catch_up();
        }
    }

    /// Lets the terminal take what it has not taken yet. It is done in large pieces, because of those that scroll away only
    /// the end counts.
    pub(super) fn catch_up(&mut self) {
        let (Some(terminal), offset) = (&mut self.terminal, self.kept.offset()) else { return };
        while self.fed < offset {
            match self.kept.read(self.fed, &mut self.space) {
                Some(count) => {
                    terminal.feed(&self.space[..count]);
                    self.fed += count as u64;
                }
                // It could not be kept.
                None => self.fed = offset,
            }
        }
        self.input.add(terminal.answers());
    }

    fn is_behind(&self) -> bool {
        self.terminal.is_some() && self.fed < self.kept.offset()
    }

    fn cut(&mut self) {
        self.catch_up();
        let keyframe = match &self.terminal {
            Some(terminal) => {
                let size = terminal.size();
                Keyframe { size: (size.0, size.1), bytes: terminal.keyframe() }
            }
            None => Keyframe { size: (0, 0), bytes: Vec::new() },
        };
        let _ = self.kept.cut(&keyframe);
    }

    pub(super) fn resize(&mut self, size: Size) {
        let size = size.sane();
        self.catch_up();
        let Some(terminal) = &mut self.terminal else { return };
        if terminal.size() != size && self.program.resize(size).is_ok() {
            terminal.resize(size);
            // What is kept before and after has different sizes.
            self.cut();
        }
    }

    fn read_errors(&mut self) {
        let mut space = std::mem::take(&mut self.space);
        while self.errors_are_open {
            let Some(errors) = self.program.errors() else { break };
            match rustix::io::read(errors, &mut space[..]) {
                Ok(0) => self.errors_are_open = false,
                Ok(count) => self.program.keep_errors(&space[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.errors_are_open = false,
            }
        }
        self.space = space;
    }

    /// Takes notice of all that has ended below us.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.record.pid => {
                    let exit =
                        Exit { code: status.exit_status(), signal: status.terminating_signal(), at: now() };
                    self.exited(exit);
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
        match self.input.send(self.program.input()) {
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
        let show = Show { kept: &self.kept, terminal, exit: self.exit };
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

/// What has happened.
struct Ready {
    listener: bool,
    children: bool,
    output: bool,
    errors: bool,
    peers: Vec<u64>,
    nothing: bool,
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
