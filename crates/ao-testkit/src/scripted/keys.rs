//! Parses keys from the bytes that a terminal sends.

/// A pressed key or pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PressedKey {
    Char(char),
    Paste(String),
    Enter,
    Escape,
    Up,
    Down,
    Backspace,
    /// Ctrl and this letter.
    Control(char),
}

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Buffers bytes until they form keys.
#[derive(Debug)]
pub(super) struct KeyParser {
    pending: Vec<u8>,
    /// True if the marks of pasted text are understood.
    bracketed: bool,
}

impl KeyParser {
    pub(super) fn new(bracketed: bool) -> KeyParser {
        KeyParser { pending: Vec::new(), bracketed }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<PressedKey> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut at = 0;
        while let Some((key, length)) = self.next(at) {
            keys.extend(key);
            at += length;
        }
        self.pending.drain(..at);
        keys
    }

    /// Returns the Escape key if nothing followed an escape byte for a while.
    pub(super) fn settle(&mut self) -> Vec<PressedKey> {
        if self.pending == b"\x1b" {
            self.pending.clear();
            return vec![PressedKey::Escape];
        }
        Vec::new()
    }

    /// Returns true if an escape byte waits for a sequence.
    pub(super) fn waits(&self) -> bool {
        self.pending == b"\x1b"
    }

    /// Returns the key at an offset, if it is complete, and its length in bytes.
    fn next(&self, at: usize) -> Option<(Option<PressedKey>, usize)> {
        let rest = &self.pending[at..];
        let first = *rest.first()?;
        if self.bracketed && rest.starts_with(PASTE_BEGINS) {
            let body = &rest[PASTE_BEGINS.len()..];
            let end = body.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
            // Terminals send a line break in pasted text as a carriage return or unchanged.
            let text = String::from_utf8_lossy(&body[..end]).replace("\r\n", "\n").replace('\r', "\n");
            return Some((Some(PressedKey::Paste(text)), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
        }
        match first {
            0x1b => escape(rest, self.bracketed),
            b'\r' => Some((Some(PressedKey::Enter), 1)),
            b'\n' | b'\t' => Some((Some(PressedKey::Char(char::from(first))), 1)),
            0x7f | 0x08 => Some((Some(PressedKey::Backspace), 1)),
            0x01..0x1b => Some((Some(PressedKey::Control(char::from(first + 0x60))), 1)),
            0x00 | 0x1c..0x20 => Some((None, 1)),
            _ => character(rest),
        }
    }
}

fn escape(rest: &[u8], bracketed: bool) -> Option<(Option<PressedKey>, usize)> {
    match rest.get(1)? {
        b'[' => {
            let end = rest[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))? + 3;
            let key = match &rest[..end] {
                b"\x1b[A" => Some(PressedKey::Up),
                b"\x1b[B" => Some(PressedKey::Down),
                // A program that does not know the marks takes them for text, as real programs do.
                _ if !bracketed => return Some((Some(PressedKey::Escape), 1)),
                _ => None,
            };
            Some((key, end))
        }
        0x1b => Some((Some(PressedKey::Escape), 1)),
        // Alt and Enter is a line break in the draft.
        b'\r' => Some((Some(PressedKey::Char('\n')), 2)),
        _ => Some((Some(PressedKey::Escape), 1)),
    }
}

fn character(rest: &[u8]) -> Option<(Option<PressedKey>, usize)> {
    let length = match rest[0] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    let bytes = rest.get(..length)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((text.chars().next().map(PressedKey::Char), length)),
        Err(_) => Some((None, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_text_is_one_key_however_it_was_cut() {
        let mut keys = KeyParser::new(true);
        assert_eq!(keys.push(b"a\x1b[20"), [PressedKey::Char('a')]);
        assert_eq!(keys.push(b"0~one\r\ntwo\x1b[2"), []);
        assert_eq!(
            keys.push("01~ü\r".as_bytes()),
            [PressedKey::Paste("one\ntwo".into()), PressedKey::Char('ü'), PressedKey::Enter]
        );
    }

    #[test]
    fn an_escape_alone_is_a_key_once_nothing_follows() {
        let mut keys = KeyParser::new(true);
        assert_eq!(keys.push(b"\x1b"), []);
        assert!(keys.waits());
        assert_eq!(keys.settle(), [PressedKey::Escape]);
        assert_eq!(
            keys.push(b"\x1b[A\x1b[B\x03"),
            [PressedKey::Up, PressedKey::Down, PressedKey::Control('c')]
        );
    }

    #[test]
    fn without_marks_a_line_break_in_pasted_text_is_a_press_of_enter() {
        let keys = KeyParser::new(false).push(b"\x1b[200~a\r");
        assert_eq!(keys.first(), Some(&PressedKey::Escape));
        assert_eq!(keys.last(), Some(&PressedKey::Enter));
    }
}
