//! A part of the log in memory, that moves on: enough before and after any place to read what belongs to it.
//!
//! Looking back and ahead has fixed bounds, so that what is read from a log does not depend on where its parts happen to
//! be cut.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::{memchr, memrchr};

use super::text;

/// How far before a place anybody looks.
pub(super) const BACK: usize = 128 * 1024;
/// How far after a place anybody looks.
pub(super) const AHEAD: usize = 128 * 1024;
const SIZE: usize = 1024 * 1024;

pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the buffer begins in the log.
    pub offset: u64,
    pub ended: bool,
}

impl<R> Window<R> {
    pub(super) fn new(reader: R) -> Window<R> {
        Window { reader, buffer: Vec::new(), offset: 0, ended: false }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Whether everything that may be looked at from `place` is here.
    pub(super) fn reaches(&self, place: usize) -> bool {
        self.ended || self.buffer.len() - place >= AHEAD
    }
}

impl<R: Read> Window<R> {
    /// Forgets what is too far behind `place`, reads on, and returns where `place` is now.
    pub(super) fn advance(&mut self, place: usize) -> io::Result<usize> {
        let gone = place.saturating_sub(BACK);
        self.buffer.drain(..gone);
        self.offset += gone as u64;
        self.buffer.reserve(SIZE);
        let wanted = SIZE - self.buffer.len();
        let read = self.reader.by_ref().take(wanted as u64).read_to_end(&mut self.buffer)?;
        self.ended = read < wanted;
        Ok(place - gone)
    }
}

/// A line of the log, with what is before and after it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    /// Nothing before this is looked at, because it has been read already or is too far.
    floor: usize,
    pub start: usize,
    /// Where the next line begins.
    pub next: usize,
    limit: usize,
}

impl<'a> View<'a> {
    /// The line around `place`. It begins at `floor` at the earliest, and is cut where it would go out of sight.
    pub(super) fn around(bytes: &'a [u8], place: usize, floor: usize) -> View<'a> {
        let back = place.saturating_sub(BACK);
        let limit = bytes.len().min(place + AHEAD);
        let from = back.max(floor);
        let start = memrchr(b'\n', &bytes[from..place]).map_or(from, |at| from + at + 1);
        let next = memchr(b'\n', &bytes[place..limit]).map_or(limit, |at| place + at + 1);
        View { bytes, floor: back, start, next, limit }
    }

    pub(super) fn raw(&self) -> &'a [u8] {
        &self.bytes[self.start..self.next]
    }

    /// What comes before this line, as far as anybody looks.
    pub(super) fn raw_before(&self) -> &'a [u8] {
        &self.bytes[self.floor..self.start]
    }

    /// The line that begins at `at`, seen as far as this one.
    pub(super) fn line_at(&self, at: usize) -> View<'a> {
        let next = memchr(b'\n', &self.bytes[at..self.limit]).map_or(self.limit, |end| at + end + 1);
        View { start: at, next, ..*self }
    }

    /// The lines after this one, each with the place after it.
    pub(super) fn after(&self) -> Lines<'a> {
        self.lines_from(self.next)
    }

    pub(super) fn lines_from(&self, at: usize) -> Lines<'a> {
        Lines { bytes: &self.bytes[..self.limit], at }
    }

    /// The lines before this one, the nearest first.
    pub(super) fn before(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let (bytes, floor) = (self.bytes, self.floor);
        let mut end = self.start;
        std::iter::from_fn(move || {
            if end <= floor {
                return None;
            }
            let start = memrchr(b'\n', &bytes[floor..end - 1]).map_or(floor, |at| floor + at + 1);
            let line = text::clean(&bytes[start..end]);
            end = start;
            Some(line)
        })
    }

    /// This line with some before and some after it, each with its place in the log, which begins at `offset` here.
    pub(super) fn surroundings(&self, offset: u64, before: usize, after: usize) -> Vec<Seen> {
        let mut start = self.start;
        let mut walked = 0;
        while walked < before && start > self.floor {
            let floor = self.floor;
            start = memrchr(b'\n', &self.bytes[floor..start - 1]).map_or(floor, |at| floor + at + 1);
            walked += 1;
        }
        let lines = self.lines_from(start).take(walked + 1 + after);
        lines
            .map(|(line, next)| {
                let start = std::mem::replace(&mut start, next);
                Seen { start: offset + start as u64, end: offset + next as u64, line: line.into_owned() }
            })
            .collect()
    }

    /// At most so many lines after this one, until one is a stop.
    pub(super) fn below(&self, most: usize, stop: impl Fn(&str) -> bool) -> Vec<String> {
        let lines = self.after().take(most).map(|(line, _)| line);
        lines.take_while(|line| !stop(line)).map(Cow::into_owned).collect()
    }

    /// Keeps the first lines from `at` on until one is a stop, which is not taken. Returns them and the place of the stop.
    pub(super) fn until(&self, at: usize, keep: usize, stop: impl Fn(&str) -> bool) -> (Vec<String>, usize) {
        let mut kept = Vec::new();
        let mut end = at;
        for (line, next) in self.lines_from(at).take(LONGEST) {
            if stop(&line) {
                break;
            }
            end = next;
            if kept.len() < keep {
                kept.push(line.into_owned());
            }
        }
        (kept, end)
    }
}

/// A line and where it is in the log.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub start: u64,
    pub end: u64,
    pub line: String,
}

/// No block that belongs to one failure has more lines.
const LONGEST: usize = 2000;

pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (Cow<'a, str>, usize);

    fn next(&mut self) -> Option<(Cow<'a, str>, usize)> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let length = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        self.at += length;
        Some((text::clean(&rest[..length]), self.at))
    }
}
