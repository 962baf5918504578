//! Separates a person's typing from the other bytes of a viewer.
//!
//! A viewer's terminal also sees the program's queries and answers them, but the shim's own terminal has answered
//! already. Mouse movement and focus changes are not typing either.

/// A viewer's bytes, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SortedInput {
    /// The bytes for the program.
    pub(super) bytes: Vec<u8>,
    /// True if a person has typed some of it.
    pub(super) typed: bool,
}

pub(super) fn sort(bytes: &[u8]) -> SortedInput {
    let mut sorted = SortedInput::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, kind) = first(rest);
        if kind != InputKind::Answer {
            sorted.bytes.extend_from_slice(piece);
            sorted.typed |= kind == InputKind::Typed;
        }
        rest = &rest[piece.len()..];
    }
    sorted
}

#[derive(PartialEq)]
enum InputKind {
    Typed,
    /// The viewer's terminal reports the mouse, or a focus change.
    Report,
    /// The viewer's terminal answers a query of the program.
    Answer,
}

/// Returns the first key or sequence, and its kind.
fn first(bytes: &[u8]) -> (&[u8], InputKind) {
    match bytes {
        [0x1b, b'[', rest @ ..] => {
            // The old form of a mouse report is followed by three bytes.
            if rest.first() == Some(&b'M') && rest.len() >= 4 {
                return (&bytes[..6], InputKind::Report);
            }
            let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                return (bytes, InputKind::Typed);
            };
            (&bytes[..end + 3], csi(&rest[..end], rest[end]))
        }
        // OSC and DCS come from terminals only, and end with BEL or ST.
        [0x1b, b']' | b'P', rest @ ..] => {
            let bell = rest.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
            let string_end = rest.windows(2).position(|pair| pair == b"\x1b\\").map(|at| at + 2);
            match [bell, string_end].into_iter().flatten().min() {
                Some(end) => (&bytes[..2 + end], InputKind::Answer),
                // A person can type Alt with these letters.
                None => (&bytes[..2], InputKind::Typed),
            }
        }
        _ => {
            let next = bytes[1..].iter().position(|byte| *byte == 0x1b).map_or(bytes.len(), |at| at + 1);
            (&bytes[..next], InputKind::Typed)
        }
    }
}

fn csi(parameters: &[u8], last: u8) -> InputKind {
    match (parameters, last) {
        ([b'?' | b'>' | b'=', ..], b'c' | b'n' | b'u' | b'S') | (_, b'n' | b't') => InputKind::Answer,
        ([.., b'$'], b'y') => InputKind::Answer,
        // The cursor position. Keys with a modifier look like this only in the first line: `ESC [ 1 ; 2 R`.
        (_, b'R') if !parameters.is_empty() && !parameters.starts_with(b"1;") => InputKind::Answer,
        ([b'<', ..], b'M' | b'm') | ([], b'I' | b'O') => InputKind::Report,
        _ => InputKind::Typed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], passed: &[u8], typed: bool) {
        assert_eq!(sort(bytes), SortedInput { bytes: passed.to_vec(), typed }, "{}", bytes.escape_ascii());
    }

    #[test]
    fn keys_are_typing_and_answers_are_not() {
        check(b"hello\r", b"hello\r", true);
        check("\u{fc}\u{4e16}".as_bytes(), "\u{fc}\u{4e16}".as_bytes(), true);
        check(b"\x1b[A\x1bOP\x1b", b"\x1b[A\x1bOP\x1b", true);
        check(b"\x1b[200~pasted\x1b[201~", b"\x1b[200~pasted\x1b[201~", true);
        check(b"\x1b[?62;4c\x1b[12;40R\x1b[0n\x1b[?2026;2$y", b"", false);
        check(b"\x1b]11;rgb:0/0/0\x1b\\\x1bP>|xterm\x1b\\", b"", false);
        check(b"\x1b[<35;4;5M\x1b[I\x1b[O", b"\x1b[<35;4;5M\x1b[I\x1b[O", false);
        check(b"\x1b[6;1Rx", b"x", true);
        check(b"\x1b[1;2R", b"\x1b[1;2R", true);
        check(b"\x1b]", b"\x1b]", true);
    }
}
