//! What goes into the program, in order, each write once.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

/// How much may wait for a program that does not read. One write is always taken, however long.
const MOST: usize = 1 << 20;
/// How many numbers are remembered. A write is repeated soon or never.
const NUMBERS: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct Input {
    queue: VecDeque<Piece>,
    /// How many bytes of the first piece are written.
    sent: usize,
    waiting: usize,
    written: HashSet<u64>,
    order: VecDeque<u64>,
    /// Who wants to know of a write: by its number, the asker, and whether it was asked for before.
    askers: Vec<(u64, u64, bool)>,
}

struct Piece {
    bytes: Vec<u8>,
    number: Option<u64>,
}

/// What became of a wish to write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It will be told.
    Waits,
    AlreadyWritten,
    Full,
}

impl Input {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes without a number: typing, and the terminal's own answers. Lost if the program does not read at all.
    pub(super) fn add(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() && self.waiting < MOST {
            self.waiting += bytes.len();
            self.queue.push_back(Piece { bytes, number: None });
        }
    }

    pub(super) fn write(&mut self, number: u64, bytes: Vec<u8>, asker: u64) -> Taken {
        if self.written.contains(&number) {
            return Taken::AlreadyWritten;
        }
        let is_queued = self.queue.iter().any(|piece| piece.number == Some(number));
        if !is_queued {
            if self.waiting > 0 && self.waiting + bytes.len() > MOST {
                return Taken::Full;
            }
            self.waiting += bytes.len();
            self.queue.push_back(Piece { bytes, number: Some(number) });
        }
        self.askers.push((number, asker, is_queued));
        Taken::Waits
    }

    /// Writes what the program takes now. Returns whom to tell, and whether it was asked for before.
    pub(super) fn send(&mut self, to: BorrowedFd<'_>) -> io::Result<Vec<(u64, bool)>> {
        let mut tell = Vec::new();
        while let Some(first) = self.queue.front() {
            if self.sent < first.bytes.len() {
                match rustix::io::write(to, &first.bytes[self.sent..]) {
                    Ok(count) => {
                        self.sent += count;
                        self.waiting -= count;
                    }
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(err) => return Err(err.into()),
                }
                continue;
            }
            self.sent = 0;
            if let Some(number) = self.queue.pop_front().and_then(|piece| piece.number) {
                self.remember(number);
                tell.extend(
                    self.askers
                        .extract_if(.., |(known, ..)| *known == number)
                        .map(|(_, who, again)| (who, again)),
                );
            }
        }
        Ok(tell)
    }

    /// Gives up what was not written. Returns who waits for it.
    pub(super) fn give_up(&mut self) -> Vec<u64> {
        self.queue.clear();
        (self.sent, self.waiting) = (0, 0);
        self.askers.drain(..).map(|(_, who, _)| who).collect()
    }

    fn remember(&mut self, number: u64) {
        self.written.insert(number);
        self.order.push_back(number);
        if self.order.len() > NUMBERS
            && let Some(oldest) = self.order.pop_front()
        {
            self.written.remove(&oldest);
        }
    }
}
