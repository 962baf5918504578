//! A connected client: the daemon, or a viewer.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::viewer::Viewer;
use crate::process::protocol::{self, ShimMessage, ShimRequest};

pub(super) struct ShimPeer {
    pub(super) id: u64,
    pub(super) stream: UnixStream,
    pub(super) role: PeerRole,
    pub(super) is_gone: bool,
    /// It accepts nothing any more, but its last messages may not be read yet.
    pub(super) is_deaf: bool,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    sent: usize,
}

pub(super) enum PeerRole {
    /// Sends a request and waits for the answer.
    Asker,
    /// Is notified of the exit, of typing, and once of output behind an offset.
    Subscriber { beyond: Option<u64>, notified_typing: Option<Instant> },
    /// Sees the terminal.
    Viewer(Viewer),
}

impl ShimPeer {
    /// Accepts a connection, if it comes from our own user.
    pub(super) fn new(id: u64, stream: UnixStream) -> io::Result<Option<ShimPeer>> {
        let who = rustix::net::sockopt::socket_peercred(&stream)?;
        if who.uid != rustix::process::getuid() {
            return Ok(None);
        }
        stream.set_nonblocking(true)?;
        let (inbox, outbox) = (Vec::new(), Vec::new());
        Ok(Some(ShimPeer {
            id,
            stream,
            role: PeerRole::Asker,
            is_gone: false,
            is_deaf: false,
            inbox,
            outbox,
            sent: 0,
        }))
    }

    /// Reads the received bytes, and returns the requests in them.
    pub(super) fn receive(&mut self, space: &mut [u8]) -> Vec<(Option<ShimRequest>, Vec<u8>)> {
        let mut asked = Vec::new();
        loop {
            match self.stream.read(space) {
                Ok(0) => self.is_gone = true,
                Ok(count) => {
                    self.inbox.extend_from_slice(&space[..count]);
                    if count == space.len() {
                        continue;
                    }
                }
                Err(err) if err.kind() == ErrorKind::WouldBlock => {}
                Err(err) if err.kind() == ErrorKind::Interrupted => continue,
                Err(_) => self.is_gone = true,
            }
            break;
        }
        loop {
            match protocol::pop(&mut self.inbox) {
                Ok(Some(ask)) => asked.push(ask),
                Ok(None) => break,
                Err(_) => {
                    self.is_gone = true;
                    break;
                }
            }
        }
        if self.inbox.is_empty() {
            self.inbox = Vec::new();
        }
        asked
    }

    pub(super) fn say(&mut self, say: &ShimMessage, bytes: &[u8]) {
        protocol::push(say, bytes, &mut self.outbox);
    }

    /// Sends as much as the other side accepts now.
    pub(super) fn flush(&mut self) {
        while self.sent < self.outbox.len() && !self.is_deaf {
            match self.stream.write(&self.outbox[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(err) if err.kind() == ErrorKind::WouldBlock => return,
                Err(err) if err.kind() == ErrorKind::Interrupted => {}
                // Its last messages are still to be read: a person may type and leave.
                Err(_) => self.is_deaf = true,
            }
        }
        self.outbox.clear();
        self.sent = 0;
    }

    /// Returns true if the other side has not accepted everything yet.
    pub(super) fn is_behind(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Frees the buffer when there is nothing more to send for now.
    pub(super) fn rest(&mut self) {
        if self.outbox.is_empty() && self.outbox.capacity() > 0 {
            self.outbox = Vec::new();
        }
    }
}
