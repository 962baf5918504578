//! A sliding window over the log, with enough before and after any offset to read a whole failure.
//!
//! Readers look back and ahead within fixed bounds, so that the result does not depend on where the window happens to
//! be cut.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::{memchr, memrchr};

use super::text;

/// The most bytes that readers look back.
pub(super) const BACK: usize = 128 * 1024;
/// The most bytes that readers look ahead.
pub(super) const AHEAD: usize = 128 * 1024;
const SIZE: usize = 1024 * 1024;

pub(super) struct LogWindow<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Offset of the buffer in the log.
    pub offset: u64,
    pub ended: bool,
}

impl<R> LogWindow<R> {
    pub(super) fn new(reader: R) -> LogWindow<R> {
        LogWindow { reader, buffer: Vec::new(), offset: 0, ended: false }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns true if everything that may be read from `place` is in the buffer.
    pub(super) fn reaches(&self, place: usize) -> bool {
        self.ended || self.buffer.len() - place >= AHEAD
    }
}

impl<R: Read> LogWindow<R> {
    /// Drops what is too far behind `place`, reads on, and returns the new position of `place`.
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
pub(super) struct LineView<'a> {
    bytes: &'a [u8],
    /// Nothing before this is read, because it was read already or is too far.
    floor: usize,
    pub start: usize,
    /// Start of the next line.
    pub next: usize,
    limit: usize,
}

impl<'a> LineView<'a> {
    /// Returns the line around `place`. It begins at `floor` at the earliest, and is cut at the bounds.
    pub(super) fn around(bytes: &'a [u8], place: usize, floor: usize) -> LineView<'a> {
        let back = place.saturating_sub(BACK);
        let limit = bytes.len().min(place + AHEAD);
        let from = back.max(floor);
        let start = memrchr(b'\n', &bytes[from..place]).map_or(from, |at| from + at + 1);
        let next = memchr(b'\n', &bytes[place..limit]).map_or(limit, |at| place + at + 1);
        LineView { bytes, floor: back, start, next, limit }
    }

    pub(super) fn raw(&self) -> &'a [u8] {
        &self.bytes[self.start..self.next]
    }

    /// Returns the bytes before this line, within the bounds.
    pub(super) fn raw_before(&self) -> &'a [u8] {
        &self.bytes[self.floor..self.start]
    }

    /// Returns the line that begins at `at`, with the same bounds.
    pub(super) fn line_at(&self, at: usize) -> LineView<'a> {
        let next = memchr(b'\n', &self.bytes[at..self.limit]).map_or(self.limit, |end| at + end + 1);
        LineView { start: at, next, ..*self }
    }

    /// Returns the lines after this one, each with the offset after it.
    pub(super) fn after(&self) -> LineIter<'a> {
        self.lines_from(self.next)
    }

    pub(super) fn lines_from(&self, at: usize) -> LineIter<'a> {
        LineIter { bytes: &self.bytes[..self.limit], at }
    }

    /// Returns the lines before this one, the nearest first.
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

    /// Returns this line with some before and after it, each with its position in the log. `offset` is the window's.
    pub(super) fn surroundings(&self, offset: u64, before: usize, after: usize) -> Vec<LogLine> {
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
                LogLine { start: offset + start as u64, end: offset + next as u64, line: line.into_owned() }
            })
            .collect()
    }

    /// Returns at most so many lines after this one, until a stop.
    pub(super) fn below(&self, most: usize, stop: impl Fn(&str) -> bool) -> Vec<String> {
        let lines = self.after().take(most).map(|(line, _)| line);
        lines.take_while(|line| !stop(line)).map(Cow::into_owned).collect()
    }

    /// Keeps the first lines from `at` until a stop, which is not taken. Returns them and the position of the stop.
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

/// A line and its position in the log.
#[derive(Debug, Clone)]
pub(super) struct LogLine {
    pub start: u64,
    pub end: u64,
    pub line: String,
}

/// The most lines of one failure.
const LONGEST: usize = 2000;

pub(super) struct LineIter<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for LineIter<'a> {
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
