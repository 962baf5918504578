//! Somebody who is connected: the daemon, or a viewer.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::viewer::Viewer;
use crate::process::protocol::{self, Ask, Say};

pub(super) struct Peer {
    pub(super) id: u64,
    pub(super) stream: UnixStream,
    pub(super) role: Role,
    pub(super) is_gone: bool,
    /// It takes nothing any more, but may have said something that is not read yet.
    pub(super) is_deaf: bool,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    sent: usize,
}

pub(super) enum Role {
    /// Asks something and waits for the answer.
    Asker,
    /// Wants to be told of the end, of typing, and once of output behind an offset.
    Subscriber {
        beyond: Option<u64>,
        told_typing: Option<Instant>,
    },
    Viewer(Viewer),
}

impl Peer {
    /// Takes a connection, if it comes from our own user.
    pub(super) fn new(id: u64, stream: UnixStream) -> io::Result<Option<Peer>> {
        let who = rustix::net::sockopt::socket_peercred(&stream)?;
        if who.uid != rustix::process::getuid() {
            return Ok(None);
        }
        stream.set_nonblocking(true)?;
        let (inbox, outbox) = (Vec::new(), Vec::new());
        Ok(Some(Peer {
            id,
            stream,
            role: Role::Asker,
            is_gone: false,
            is_deaf: false,
            inbox,
            outbox,
            sent: 0,
        }))
    }

    /// Reads what has come, and returns what is asked.
    pub(super) fn receive(&mut self, space: &mut [u8]) -> Vec<(Option<Ask>, Vec<u8>)> {
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

    pub(super) fn say(&mut self, say: &Say, bytes: &[u8]) {
        protocol::push(say, bytes, &mut self.outbox);
    }

    /// Sends what the other side takes now.
    pub(super) fn flush(&mut self) {
        while self.sent < self.outbox.len() && !self.is_deaf {
            match self.stream.write(&self.outbox[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(err) if err.kind() == ErrorKind::WouldBlock => return,
                Err(err) if err.kind() == ErrorKind::Interrupted => {}
                // What it has said before it went is still to be read: somebody may type and leave.
                Err(_) => self.is_deaf = true,
            }
        }
        self.outbox.clear();
        self.sent = 0;
    }

    /// There is something that the other side has not taken yet.
    pub(super) fn is_behind(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Lets the memory of the last message go, when there is nothing more to say for now.
    pub(super) fn rest(&mut self) {
        if self.outbox.is_empty() && self.outbox.capacity() > 0 {
            self.outbox = Vec::new();
        }
    }
}
