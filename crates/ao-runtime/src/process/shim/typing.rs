//! What of a viewer's bytes is a person's typing.
//!
//! A viewer's terminal sees the program's questions too and answers them, but the shim's own terminal has answered already.
//! And a pointer that moves, or a window that is chosen, is not a draft.

/// A viewer's bytes, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sorted {
    /// For the program.
    pub(super) bytes: Vec<u8>,
    /// A person has typed some of it.
    pub(super) typed: bool,
}

pub(super) fn sort(bytes: &[u8]) -> Sorted {
    let mut sorted = Sorted::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, kind) = first(rest);
        if kind != Kind::Answer {
            sorted.bytes.extend_from_slice(piece);
            sorted.typed |= kind == Kind::Typed;
        }
        rest = &rest[piece.len()..];
    }
    sorted
}

#[derive(PartialEq)]
enum Kind {
    Typed,
    /// The viewer's terminal tells of the mouse, or of its window.
    Told,
    /// The viewer's terminal answers a question of the program's.
    Answer,
}

/// The first key or sequence, and what it is.
fn first(bytes: &[u8]) -> (&[u8], Kind) {
    match bytes {
        [0x1b, b'[', rest @ ..] => {
            // The old form of a mouse report has three bytes behind it.
            if rest.first() == Some(&b'M') && rest.len() >= 4 {
                return (&bytes[..6], Kind::Told);
            }
            let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                return (bytes, Kind::Typed);
            };
            (&bytes[..end + 3], csi(&rest[..end], rest[end]))
        }
        // OSC and DCS come from terminals only, and end with BEL or ST.
        [0x1b, b']' | b'P', rest @ ..] => {
            let bell = rest.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
            let string_end = rest.windows(2).position(|pair| pair == b"\x1b\\").map(|at| at + 2);
            match [bell, string_end].into_iter().flatten().min() {
                Some(end) => (&bytes[..2 + end], Kind::Answer),
                // A person can type Alt with these letters.
                None => (&bytes[..2], Kind::Typed),
            }
        }
        _ => {
            let next = bytes[1..].iter().position(|byte| *byte == 0x1b).map_or(bytes.len(), |at| at + 1);
            (&bytes[..next], Kind::Typed)
        }
    }
}

fn csi(parameters: &[u8], last: u8) -> Kind {
    match (parameters, last) {
        ([b'?' | b'>' | b'=', ..], b'c' | b'n' | b'u' | b'S') | (_, b'n' | b't') => Kind::Answer,
        ([.., b'$'], b'y') => Kind::Answer,
        // Where the cursor is. Keys with a modifier look like this only in the first line: `ESC [ 1 ; 2 R`.
        (_, b'R') if !parameters.is_empty() && !parameters.starts_with(b"1;") => Kind::Answer,
        ([b'<', ..], b'M' | b'm') | ([], b'I' | b'O') => Kind::Told,
        _ => Kind::Typed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], passed: &[u8], typed: bool) {
        assert_eq!(sort(bytes), Sorted { bytes: passed.to_vec(), typed }, "{}", bytes.escape_ascii());
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
