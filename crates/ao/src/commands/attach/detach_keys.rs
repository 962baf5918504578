//! Finds the keys that detach a viewer among all typed bytes.
//!
//! A program may have asked the terminal to report keys in other encodings, so each key is known in all of them.
//! Pasted text is never taken for keys.

use std::str::FromStr;

const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";

/// A sequence of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetachKeys {
    keys: Vec<EncodedKey>,
    /// The sequence as written.
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EncodedKey {
    byte: u8,
    /// The bytes that terminals send for it.
    sent_as: Vec<Vec<u8>>,
}

impl DetachKeys {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for DetachKeys {
    type Err = String;

    fn from_str(text: &str) -> Result<DetachKeys, String> {
        let keys = text.split(',').map(|word| key(word.trim())).collect::<Result<_, _>>()?;
        Ok(DetachKeys { keys, name: text.split(',').map(str::trim).collect::<Vec<_>>().join(" ") })
    }
}

fn key(word: &str) -> Result<EncodedKey, String> {
    let wrong = || {
        format!("`{word}` is not a key; write `a` or `ctrl-a`, separated by commas, as in `ctrl-p,ctrl-q`")
    };
    let (control, char) = match word.strip_prefix("ctrl-") {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let [char] = char.as_bytes() else { return Err(wrong()) };
    if !char.is_ascii_graphic() {
        return Err(wrong());
    }
    if !control {
        let sent_as = vec![vec![*char], format!("\x1b[{char}u").into(), format!("\x1b[{char};1u").into()];
        return Ok(EncodedKey { byte: *char, sent_as });
    }
    let upper = char.to_ascii_uppercase();
    if !(b'@'..=b'_').contains(&upper) || upper == b'[' {
        // Escape starts the terminal's own reports, and the other characters have no control form.
        return Err(wrong());
    }
    let (byte, lower) = (upper & 0x1f, char.to_ascii_lowercase());
    let sent_as = vec![
        vec![byte],
        format!("\x1b[{lower};5u").into(),
        format!("\x1b[{lower};5:1u").into(),
        format!("\x1b[27;5;{lower}~").into(),
    ];
    Ok(EncodedKey { byte, sent_as })
}

/// Typed input, sorted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedInput {
    /// Bytes for the program.
    Bytes(Vec<u8>),
    Detach,
}

/// Finds the keys in typed bytes.
#[derive(Debug)]
pub(crate) struct KeyFinder {
    keys: DetachKeys,
    /// The part of a key that was typed so far.
    begun: Vec<u8>,
    found: usize,
    is_pasting: bool,
}

impl KeyFinder {
    pub(crate) fn new(keys: DetachKeys) -> KeyFinder {
        KeyFinder { keys, begun: vec![], found: 0, is_pasting: false }
    }

    /// Sorts typed bytes. Bytes after the keys are dropped, because the viewer has left.
    pub(crate) fn sort(&mut self, typed: &[u8]) -> Vec<TypedInput> {
        let (mut bytes, mut rest) = (Vec::new(), typed);
        while let Some(first) = rest.first() {
            if let Some(mark) = [PASTE, PASTED].into_iter().find(|mark| rest.starts_with(mark)) {
                self.is_pasting = mark == PASTE;
                self.let_go(&mut bytes);
                bytes.extend_from_slice(mark);
                rest = &rest[mark.len()..];
                continue;
            }
            let sent =
                |key: &EncodedKey| key.sent_as.iter().find(|sent| rest.starts_with(sent)).map(Vec::len);
            let length = if self.is_pasting { None } else { sent(&self.keys.keys[self.found]) };
            match length {
                Some(length) => {
                    self.begun.extend_from_slice(&rest[..length]);
                    self.found += 1;
                    rest = &rest[length..];
                    if self.found == self.keys.keys.len() {
                        self.found = 0;
                        self.begun.clear();
                        let before = if bytes.is_empty() { None } else { Some(TypedInput::Bytes(bytes)) };
                        return before.into_iter().chain([TypedInput::Detach]).collect();
                    }
                }
                // The first key twice sends the key once.
                None if self.found == 1 && sent(&self.keys.keys[0]).is_some() && !self.is_pasting => {
                    let length = sent(&self.keys.keys[0]).unwrap_or(1);
                    bytes.extend_from_slice(&rest[..length]);
                    (self.found, rest) = (0, &rest[length..]);
                    self.begun.clear();
                }
                None if self.found > 0 => self.let_go(&mut bytes),
                None => {
                    bytes.push(*first);
                    rest = &rest[1..];
                }
            }
        }
        if bytes.is_empty() { vec![] } else { vec![TypedInput::Bytes(bytes)] }
    }

    /// Passes on bytes that turned out not to be the keys.
    fn let_go(&mut self, bytes: &mut Vec<u8>) {
        bytes.append(&mut self.begun);
        self.found = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &str, typed: &[&str]) -> String {
        let mut finder = KeyFinder::new(keys.parse().unwrap());
        let mut text = String::new();
        for typed in typed.iter().flat_map(|typed| finder.sort(typed.as_bytes())) {
            match typed {
                TypedInput::Bytes(bytes) => text += &String::from_utf8(bytes).unwrap(),
                TypedInput::Detach => text += "<detach>",
            }
        }
        text
    }

    #[test]
    fn the_keys_detach_wherever_they_come() {
        assert_eq!(sorted("ctrl-],d", &["ab\x1ddc"]), "ab<detach>");
        assert_eq!(sorted("ctrl-],d", &["a\x1d", "d"]), "a<detach>");
        assert_eq!(sorted("ctrl-\\", &["a\x1c"]), "a<detach>");
        assert_eq!(sorted("ctrl-p,ctrl-q", &["\x10\x11"]), "<detach>");
    }

    #[test]
    fn keys_are_known_in_the_ways_that_programs_ask_for() {
        assert_eq!(sorted("ctrl-],d", &["\x1b[93;5u", "\x1b[100u"]), "<detach>");
        assert_eq!(sorted("ctrl-],d", &["\x1b[27;5;93~d"]), "<detach>");
    }

    #[test]
    fn whatever_else_begins_so_goes_to_the_program() {
        assert_eq!(sorted("ctrl-],d", &["\x1dx\x1d", "y"]), "\x1dx\x1dy");
        assert_eq!(sorted("ctrl-],d", &["\x1d\x1dd"]), "\x1dd", "twice is the key itself");
        assert_eq!(sorted("ctrl-],d", &["\x1b[200~\x1dd\x1b[201~"]), "\x1b[200~\x1dd\x1b[201~", "pasted");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for wrong in ["", "ctrl-", "ctrl-[", "ctrl-1", "f1", "ctrl-],,d", "é"] {
            assert!(wrong.parse::<DetachKeys>().is_err(), "{wrong}");
        }
    }
}
