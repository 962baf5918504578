//! Texts as people read them: without what only a terminal reads, and with the place of each byte in what was put out.
//!
//! A secret is looked for in each of these, besides the bytes as they are. What is found is taken out of the bytes with the
//! codes inside it.

use std::ops::Range;

/// The most bytes of an escape sequence. No real one is nearly as long, and one that never ends must not hide the rest.
const SEQUENCE_MOST: usize = 4096;

/// The bytes that people read, each with its place in the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    places: Vec<u32>,
}

impl View {
    /// The part of the text that a part of the view came from.
    pub(super) fn range(&self, part: Range<usize>) -> Range<usize> {
        let places = &self.places[part];
        // What is drawn over something else comes later and stands before it.
        let first = places.iter().min().map_or(0, |place| *place as usize);
        let last = places.iter().max().map_or(0, |place| *place as usize + 1);
        first..last
    }

    fn push(&mut self, byte: u8, place: usize) {
        self.bytes.push(byte);
        self.places.push(u32::try_from(place).unwrap_or(u32::MAX));
    }
}

/// The views of a text that differ from the text itself.
pub(super) fn of(text: &[u8]) -> Vec<View> {
    if !text.iter().any(|byte| may_be_unread(*byte)) {
        return vec![];
    }
    let mut views = vec![joined(text)];
    let is_drawn_over = |at: usize| match text[at] {
        0x08 => true,
        b'\r' => text.get(at + 1).is_some_and(|next| *next != b'\n'),
        _ => false,
    };
    if (0..text.len()).any(is_drawn_over) {
        views.push(drawn(text));
    }
    views
}

/// Without codes, characters that have no width, and line ends with the space that indents the next line: a long word that
/// was cut to fit the width of a screen is one word again.
pub(super) fn joined(text: &[u8]) -> View {
    let mut view = View::default();
    let (mut at, mut is_indent) = (0, false);
    while at < text.len() {
        match piece(&text[at..]) {
            Piece::Unread(length) => at += length,
            Piece::Cut => break,
            Piece::Read => {
                let byte = text[at];
                match byte {
                    b'\n' | b'\r' => is_indent = true,
                    b' ' | b'\t' if is_indent => {}
                    0x08 => {}
                    _ => {
                        is_indent = false;
                        view.push(byte, at);
                    }
                }
                at += 1;
            }
        }
    }
    view
}

/// Lines as a screen has them in the end: a backspace and a carriage return go back, and what follows is drawn over what
/// was there.
fn drawn(text: &[u8]) -> View {
    let mut view = View::default();
    let mut line: Vec<(u8, usize)> = vec![];
    let (mut at, mut column) = (0, 0_usize);
    while at < text.len() {
        match piece(&text[at..]) {
            Piece::Unread(length) => at += length,
            Piece::Cut => break,
            Piece::Read => {
                match text[at] {
                    b'\r' => column = 0,
                    0x08 => column = column.saturating_sub(1),
                    b'\n' => {
                        line.drain(..).for_each(|(byte, place)| view.push(byte, place));
                        view.push(b'\n', at);
                        column = 0;
                    }
                    byte => {
                        match line.get_mut(column) {
                            Some(there) => *there = (byte, at),
                            None => line.push((byte, at)),
                        }
                        column += 1;
                    }
                }
                at += 1;
            }
        }
    }
    line.into_iter().for_each(|(byte, place)| view.push(byte, place));
    view
}

/// The beginning of a text.
enum Piece {
    /// So many bytes that nobody reads.
    Unread(usize),
    /// A byte that is read, or that moves what is read.
    Read,
    /// The beginning of something that nobody reads; where it ends is not known yet.
    Cut,
}

fn may_be_unread(byte: u8) -> bool {
    matches!(byte, 0..=0x08 | 0x0a..=0x1f | 0x7f | 0xc2 | 0xcd | 0xe1 | 0xe2 | 0xef)
}

fn piece(text: &[u8]) -> Piece {
    match text {
        [0x1b, rest @ ..] => introduced(1, rest),
        [b'\n' | b'\r' | b'\t' | 0x08, ..] => Piece::Read,
        [0..=0x1f | 0x7f, ..] => Piece::Unread(1),
        // The controls of ISO 6429 as UTF-8 has them.
        [0xc2, 0x9b, rest @ ..] => csi(2, rest),
        [0xc2, 0x90 | 0x98 | 0x9d | 0x9e | 0x9f, rest @ ..] => string(2, rest),
        [0xc2, 0x80..=0x9f | 0xad, ..] | [0xcd, 0x8f, ..] => Piece::Unread(2),
        // Zero width, joiners, and what turns the direction of writing.
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..]
        | [0xe2, 0x81, 0xa0..=0xaf, ..]
        | [0xe1, 0xa0, 0x8e, ..]
        | [0xef, 0xb8, 0x80..=0x8f, ..]
        | [0xef, 0xbb, 0xbf, ..] => Piece::Unread(3),
        [0xc2 | 0xcd | 0xe1 | 0xe2 | 0xef] | [0xe2, 0x80 | 0x81] | [0xe1, 0xa0] | [0xef, 0xb8 | 0xbb] => {
            Piece::Cut
        }
        _ => Piece::Read,
    }
}

/// Returns what an escape character begins, which has been passed.
fn introduced(passed: usize, rest: &[u8]) -> Piece {
    match rest {
        [] => Piece::Cut,
        [b'[', rest @ ..] => csi(passed + 1, rest),
        [b']' | b'P' | b'X' | b'^' | b'_', rest @ ..] => string(passed + 1, rest),
        // A choice of character set and the like: an intermediate byte, then a last one.
        [b' '..=b'/'] => Piece::Cut,
        [b' '..=b'/', b'0'..=b'~', ..] => Piece::Unread(passed + 2),
        [b' '..=b'~', ..] => Piece::Unread(passed + 1),
        _ => Piece::Unread(passed),
    }
}

fn csi(passed: usize, rest: &[u8]) -> Piece {
    let end = rest.iter().take(SEQUENCE_MOST).position(|byte| !(0x20..=0x3f).contains(byte));
    match end.map(|end| (end, rest[end])) {
        Some((end, 0x40..=0x7e)) => Piece::Unread(passed + end + 1),
        // Cut off by something that no sequence has: only its beginning goes.
        Some((end, _)) => Piece::Unread(passed + end),
        None if rest.len() < SEQUENCE_MOST => Piece::Cut,
        None => Piece::Unread(passed),
    }
}

/// A string goes on to its terminator. If there is none in sight, only its beginning goes.
fn string(passed: usize, rest: &[u8]) -> Piece {
    for at in 0..rest.len().min(SEQUENCE_MOST) {
        match &rest[at..] {
            [0x07, ..] => return Piece::Unread(passed + at + 1),
            [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => return Piece::Unread(passed + at + 2),
            [0x1b] | [0xc2] => return Piece::Cut,
            [b'\n' | b'\r' | 0x1b, ..] => return Piece::Unread(passed),
            _ => {}
        }
    }
    if rest.len() < SEQUENCE_MOST { Piece::Cut } else { Piece::Unread(passed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(view: &View) -> String {
        String::from_utf8_lossy(&view.bytes).into_owned()
    }

    #[test]
    fn what_nobody_reads_is_left_out() {
        for (text, plain) in [
            ("\u{1b}[31mred\u{1b}[0m.", "red."),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\y\u{9d}z\u{9c}", "xy"),
            ("\u{1b}(Bx\u{1b}=y\u{9b}1mz\u{0}\u{7f}", "xyz"),
            ("a\u{200b}b\u{feff}c\u{ad}d\u{2060}e", "abcde"),
            ("one\r\n   two\n\n\tthree four", "onetwothree four"),
            ("\u{1b}]never ends\nbut this", "never endsbut this"),
            ("ä€ 日本", "ä€ 日本"),
            ("cut\u{1b}[3", "cut"),
            ("cut\u{1b}]0;tit", "cut"),
        ] {
            assert_eq!(read(&joined(text.as_bytes())), plain, "{text:?}");
        }
    }

    #[test]
    fn what_is_drawn_over_is_gone() {
        for (text, plain) in [
            ("abX\u{8}cd", "abcd"),
            ("a\u{8}ab\u{8}b", "ab"),
            ("XXXXefgh\rabcd", "abcdefgh"),
            ("one\rtwo\nthree\r\n", "two\nthree\n"),
        ] {
            assert_eq!(read(&drawn(text.as_bytes())), plain, "{text:?}");
        }
        let view = drawn(b"XXefgh\rabcd");
        assert_eq!((read(&view), view.range(2..6)), ("abcdgh".to_owned(), 4..11));
    }

    #[test]
    fn each_byte_knows_where_it_came_from() {
        let view = joined(b"a\x1b[1mb\nc");
        assert_eq!((view.range(0..3), view.range(1..2)), (0..8, 5..6));
        assert_eq!(of(b"plain text").len(), 0);
    }
}
