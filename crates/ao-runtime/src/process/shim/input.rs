//! The input queue of the program: in order, each write once.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

/// Most bytes that may wait for a program that does not read. A single write is always accepted, however long.
const MOST: usize = 1 << 20;
/// Most write numbers that are remembered. A write is repeated soon or never.
const NUMBERS: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct InputQueue {
    queue: VecDeque<InputPiece>,
    /// Bytes of the first piece that are written.
    sent: usize,
    waiting: usize,
    written: HashSet<u64>,
    order: VecDeque<u64>,
    /// The clients that wait for a write: its number, the client, and whether it was requested before.
    askers: Vec<(u64, u64, bool)>,
}

struct InputPiece {
    bytes: Vec<u8>,
    number: Option<u64>,
}

/// The outcome of a write request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WriteTaken {
    /// The client will be notified.
    Waits,
    AlreadyWritten,
    Full,
}

impl InputQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds bytes without a number: typing, and replies of the terminal. Dropped if the program does not read at all.
    pub(super) fn add(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() && self.waiting < MOST {
            self.waiting += bytes.len();
            self.queue.push_back(InputPiece { bytes, number: None });
        }
    }

    pub(super) fn write(&mut self, number: u64, bytes: Vec<u8>, asker: u64) -> WriteTaken {
        if self.written.contains(&number) {
            return WriteTaken::AlreadyWritten;
        }
        let is_queued = self.queue.iter().any(|piece| piece.number == Some(number));
        if !is_queued {
            if self.waiting > 0 && self.waiting + bytes.len() > MOST {
                return WriteTaken::Full;
            }
            self.waiting += bytes.len();
            self.queue.push_back(InputPiece { bytes, number: Some(number) });
        }
        self.askers.push((number, asker, is_queued));
        WriteTaken::Waits
    }

    /// Writes as much as the program accepts now. Returns the clients to notify, and whether they repeated a write.
    pub(super) fn send(&mut self, to: BorrowedFd<'_>) -> io::Result<Vec<(u64, bool)>> {
        let mut notify = Vec::new();
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
                notify.extend(
                    self.askers
                        .extract_if(.., |(known, ..)| *known == number)
                        .map(|(_, who, again)| (who, again)),
                );
            }
        }
        Ok(notify)
    }

    /// Drops all unwritten input. Returns the clients that wait for it.
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
