//! The single wait of a shim, and the events that wake it.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::holder::ProgramHolder;
use crate::host::files;
use crate::process::attempt_dir::SOCKET;

/// The events that have happened.
pub(super) struct ReadyEvents {
    pub(super) listener: bool,
    pub(super) children: bool,
    pub(super) output: bool,
    pub(super) errors: bool,
    pub(super) peers: Vec<u64>,
    pub(super) nothing: bool,
}

/// Handles signals that a person's terminal or a stopping host sends to whole groups: the shim stays until its program
/// has ended. The signals are handled and not ignored, because a program would inherit that.
pub(super) fn stand_signals() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Opens the socket, for our own user only.
pub(super) fn listen(dir: &Path) -> io::Result<UnixListener> {
    let (_dir, path) = files::socket(dir, SOCKET)?;
    match std::fs::remove_file(&path) {
        Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl ProgramHolder {
    pub(super) fn wait(&mut self) -> io::Result<ReadyEvents> {
        let until = [self.leaving, self.easing, self.ending.as_ref().map(|ending| ending.next)]
            .into_iter()
            .flatten()
            .min();
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        let mut output = PollFlags::empty();
        output.set(PollFlags::IN, self.output_is_open);
        let input = if self.input.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let mut errors = PollFlags::empty();
        errors.set(PollFlags::IN, self.errors_are_open);
        // Descriptors without wanted events are left out: poll would report a closed end again and again.
        let mut fds =
            vec![PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        let mut place = |fd, flags: PollFlags| {
            (!flags.is_empty()).then(|| {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                fds.len() - 1
            })
        };
        let output = place(self.program.output(), output);
        let _ = self.program.input().and_then(|fd| place(fd, input));
        let errors = self.program.errors().and_then(|fd| place(fd, errors));
        let first_peer = fds.len();
        for peer in &self.peers {
            let flags = if peer.is_behind() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            fds.push(PollFd::from_borrowed_fd(peer.stream.as_fd(), flags));
        }
        // While there is other work, the terminal waits.
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = if self.is_behind() { Some(&at_once) } else { timeout.as_ref() };
        let count = match poll(&mut fds, timeout) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(err) => return Err(err.into()),
        };
        let is_ready = |index: usize| !fds[index].revents().is_empty();
        let peers = self.peers.iter().enumerate().filter(|(index, _)| is_ready(first_peer + index));
        Ok(ReadyEvents {
            listener: is_ready(0),
            children: is_ready(1),
            output: output.is_some_and(is_ready),
            errors: errors.is_some_and(is_ready),
            peers: peers.map(|(_, peer)| peer.id).collect(),
            nothing: count == 0,
        })
    }
}
