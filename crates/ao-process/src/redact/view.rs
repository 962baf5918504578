//! Text as people see it: without terminal codes, with the position of each byte in the original.
//!
//! Secrets are searched for in each of these views and in the raw bytes. A match is masked in the raw bytes, together
//! with the codes inside it.

use std::ops::Range;

/// Longest escape sequence, in bytes. Real ones are far shorter, and one that never ends must not hide the rest.
const SEQUENCE_MOST: usize = 4096;

/// The visible bytes of a text, each with its position in the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextView {
    pub(super) bytes: Vec<u8>,
    places: Vec<u32>,
}

impl TextView {
    /// Returns the range of the text that a part of the view came from.
    pub(super) fn range(&self, part: Range<usize>) -> Range<usize> {
        let places = &self.places[part];
        // A byte that overwrites another comes later in the text but earlier in the view.
        let first = places.iter().min().map_or(0, |place| *place as usize);
        let last = places.iter().max().map_or(0, |place| *place as usize + 1);
        first..last
    }

    fn push(&mut self, byte: u8, place: usize) {
        self.bytes.push(byte);
        self.places.push(u32::try_from(place).unwrap_or(u32::MAX));
    }
}

/// Returns the views of a text that differ from the text itself.
pub(super) fn of(text: &[u8]) -> Vec<TextView> {
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

/// Removes codes, zero-width characters, and line ends with the indentation of the next line: a long word that was
/// wrapped to the width of a screen becomes one word again.
pub(super) fn joined(text: &[u8]) -> TextView {
    let mut view = TextView::default();
    let (mut at, mut is_indent) = (0, false);
    while at < text.len() {
        match piece(&text[at..]) {
            TextPiece::Unread(length) => at += length,
            TextPiece::Cut => break,
            TextPiece::Read => {
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

/// Renders lines as a screen finally shows them: backspace and carriage return move back, and the bytes that follow
/// overwrite what was there.
fn drawn(text: &[u8]) -> TextView {
    let mut view = TextView::default();
    let mut line: Vec<(u8, usize)> = vec![];
    let (mut at, mut column) = (0, 0_usize);
    while at < text.len() {
        match piece(&text[at..]) {
            TextPiece::Unread(length) => at += length,
            TextPiece::Cut => break,
            TextPiece::Read => {
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

/// The kind of text that comes next.
enum TextPiece {
    /// This many invisible bytes.
    Unread(usize),
    /// A visible byte, or one that moves the cursor.
    Read,
    /// The beginning of an invisible sequence whose end has not arrived yet.
    Cut,
}

fn may_be_unread(byte: u8) -> bool {
    matches!(byte, 0..=0x08 | 0x0a..=0x1f | 0x7f | 0xc2 | 0xcd | 0xe1 | 0xe2 | 0xef)
}

fn piece(text: &[u8]) -> TextPiece {
    match text {
        [0x1b, rest @ ..] => introduced(1, rest),
        [b'\n' | b'\r' | b'\t' | 0x08, ..] => TextPiece::Read,
        [0..=0x1f | 0x7f, ..] => TextPiece::Unread(1),
        // The C1 controls of ISO 6429, encoded in UTF-8.
        [0xc2, 0x9b, rest @ ..] => csi(2, rest),
        [0xc2, 0x90 | 0x98 | 0x9d | 0x9e | 0x9f, rest @ ..] => string(2, rest),
        [0xc2, 0x80..=0x9f | 0xad, ..] | [0xcd, 0x8f, ..] => TextPiece::Unread(2),
        // Zero-width characters, joiners, and marks that change the writing direction.
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..]
        | [0xe2, 0x81, 0xa0..=0xaf, ..]
        | [0xe1, 0xa0, 0x8e, ..]
        | [0xef, 0xb8, 0x80..=0x8f, ..]
        | [0xef, 0xbb, 0xbf, ..] => TextPiece::Unread(3),
        [0xc2 | 0xcd | 0xe1 | 0xe2 | 0xef] | [0xe2, 0x80 | 0x81] | [0xe1, 0xa0] | [0xef, 0xb8 | 0xbb] => {
            TextPiece::Cut
        }
        _ => TextPiece::Read,
    }
}

/// Classifies the sequence after an escape character, which has been consumed.
fn introduced(passed: usize, rest: &[u8]) -> TextPiece {
    match rest {
        [] => TextPiece::Cut,
        [b'[', rest @ ..] => csi(passed + 1, rest),
        [b']' | b'P' | b'X' | b'^' | b'_', rest @ ..] => string(passed + 1, rest),
        // Selects a character set or the like: an intermediate byte, then a final one.
        [b' '..=b'/'] => TextPiece::Cut,
        [b' '..=b'/', b'0'..=b'~', ..] => TextPiece::Unread(passed + 2),
        [b' '..=b'~', ..] => TextPiece::Unread(passed + 1),
        _ => TextPiece::Unread(passed),
    }
}

fn csi(passed: usize, rest: &[u8]) -> TextPiece {
    let end = rest.iter().take(SEQUENCE_MOST).position(|byte| !(0x20..=0x3f).contains(byte));
    match end.map(|end| (end, rest[end])) {
        Some((end, 0x40..=0x7e)) => TextPiece::Unread(passed + end + 1),
        // Interrupted by a byte that no sequence contains: skip only the part before it.
        Some((end, _)) => TextPiece::Unread(passed + end),
        None if rest.len() < SEQUENCE_MOST => TextPiece::Cut,
        None => TextPiece::Unread(passed),
    }
}

/// Skips a control string up to its terminator. If none is in sight, skips only the introducer.
fn string(passed: usize, rest: &[u8]) -> TextPiece {
    for at in 0..rest.len().min(SEQUENCE_MOST) {
        match &rest[at..] {
            [0x07, ..] => return TextPiece::Unread(passed + at + 1),
            [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => return TextPiece::Unread(passed + at + 2),
            [0x1b] | [0xc2] => return TextPiece::Cut,
            [b'\n' | b'\r' | 0x1b, ..] => return TextPiece::Unread(passed),
            _ => {}
        }
    }
    if rest.len() < SEQUENCE_MOST { TextPiece::Cut } else { TextPiece::Unread(passed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(view: &TextView) -> String {
        String::from_utf8_lossy(&view.bytes).into_owned()
    }

    #[test]
    fn invisible_codes_are_left_out() {
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
    fn overwritten_text_is_gone() {
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
