//! Keys out of the bytes that a terminal sends.

/// Something that was pressed or pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
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

/// Gathers bytes until they make keys.
#[derive(Debug)]
pub(super) struct Keys {
    pending: Vec<u8>,
    /// Whether the marks of pasted text are understood.
    bracketed: bool,
}

impl Keys {
    pub(super) fn new(bracketed: bool) -> Keys {
        Keys { pending: Vec::new(), bracketed }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
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

    /// Nothing came after an escape for a while: it was the key of that name.
    pub(super) fn settle(&mut self) -> Vec<Key> {
        if self.pending == b"\x1b" {
            self.pending.clear();
            return vec![Key::Escape];
        }
        Vec::new()
    }

    /// Whether an escape waits for what may follow it.
    pub(super) fn waits(&self) -> bool {
        self.pending == b"\x1b"
    }

    /// The key at a place, if it is whole, and how many bytes it has.
    fn next(&self, at: usize) -> Option<(Option<Key>, usize)> {
        let rest = &self.pending[at..];
        let first = *rest.first()?;
        if self.bracketed && rest.starts_with(PASTE_BEGINS) {
            let body = &rest[PASTE_BEGINS.len()..];
            let end = body.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
            // Terminals send a line break in pasted text as a carriage return or as it is.
            let text = String::from_utf8_lossy(&body[..end]).replace("\r\n", "\n").replace('\r', "\n");
            return Some((Some(Key::Paste(text)), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
        }
        match first {
            0x1b => escape(rest, self.bracketed),
            b'\r' => Some((Some(Key::Enter), 1)),
            b'\n' | b'\t' => Some((Some(Key::Char(char::from(first))), 1)),
            0x7f | 0x08 => Some((Some(Key::Backspace), 1)),
            0x01..0x1b => Some((Some(Key::Control(char::from(first + 0x60))), 1)),
            0x00 | 0x1c..0x20 => Some((None, 1)),
            _ => character(rest),
        }
    }
}

fn escape(rest: &[u8], bracketed: bool) -> Option<(Option<Key>, usize)> {
    match rest.get(1)? {
        b'[' => {
            let end = rest[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))? + 3;
            let key = match &rest[..end] {
                b"\x1b[A" => Some(Key::Up),
                b"\x1b[B" => Some(Key::Down),
                // Who does not know the marks takes them for text, as real programs do.
                _ if !bracketed => return Some((Some(Key::Escape), 1)),
                _ => None,
            };
            Some((key, end))
        }
        0x1b => Some((Some(Key::Escape), 1)),
        // Alt and Enter is a line break in the draft.
        b'\r' => Some((Some(Key::Char('\n')), 2)),
        _ => Some((Some(Key::Escape), 1)),
    }
}

fn character(rest: &[u8]) -> Option<(Option<Key>, usize)> {
    let length = match rest[0] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    let bytes = rest.get(..length)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((text.chars().next().map(Key::Char), length)),
        Err(_) => Some((None, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_text_is_one_key_however_it_was_cut() {
        let mut keys = Keys::new(true);
        assert_eq!(keys.push(b"a\x1b[20"), [Key::Char('a')]);
        assert_eq!(keys.push(b"0~one\r\ntwo\x1b[2"), []);
        assert_eq!(
            keys.push("01~ü\r".as_bytes()),
            [Key::Paste("one\ntwo".into()), Key::Char('ü'), Key::Enter]
        );
    }

    #[test]
    fn an_escape_alone_is_a_key_once_nothing_follows() {
        let mut keys = Keys::new(true);
        assert_eq!(keys.push(b"\x1b"), []);
        assert!(keys.waits());
        assert_eq!(keys.settle(), [Key::Escape]);
        assert_eq!(keys.push(b"\x1b[A\x1b[B\x03"), [Key::Up, Key::Down, Key::Control('c')]);
    }

    #[test]
    fn without_marks_a_line_break_in_pasted_text_is_a_press_of_enter() {
        let keys = Keys::new(false).push(b"\x1b[200~a\r");
        assert_eq!(keys.first(), Some(&Key::Escape));
        assert_eq!(keys.last(), Some(&Key::Enter));
    }
}
