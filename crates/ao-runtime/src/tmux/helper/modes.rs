//! What a program has asked of its terminal and tmux does not tell: whether pasted text is to be marked.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::files;

const FILE: &str = "modes";
/// A sequence longer than this is none that we know.
const LONGEST: usize = 64;

/// The modes as far as they are known, and the sequence that is being read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(in super::super) struct Modes {
    pub(in super::super) bracketed_paste: bool,
    #[serde(skip)]
    at: At,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum At {
    #[default]
    Text,
    Escape,
    /// Behind `ESC [`, with what has come since.
    Sequence(Vec<u8>),
}

impl Modes {
    pub(in super::super) fn read(place: &Path) -> Modes {
        files::read(&place.join(FILE)).ok().flatten().unwrap_or_default()
    }

    pub(super) fn keep(&self, place: &Path) -> io::Result<()> {
        files::write(&place.join(FILE), self)
    }

    /// Goes through output, in pieces of any size. Returns whether a mode has changed.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let before = self.bracketed_paste;
        for byte in bytes {
            self.at = match (std::mem::take(&mut self.at), byte) {
                (_, 0x1b) => At::Escape,
                (At::Escape, b'[') => At::Sequence(Vec::new()),
                // A reset of everything.
                (At::Escape, b'c') => {
                    self.bracketed_paste = false;
                    At::Text
                }
                (At::Sequence(mut all), 0x20..=0x3f) if all.len() < LONGEST => {
                    all.push(*byte);
                    At::Sequence(all)
                }
                (At::Sequence(all), b'h') => self.set(&all, true),
                (At::Sequence(all), b'l') => self.set(&all, false),
                _ => At::Text,
            };
        }
        self.bracketed_paste != before
    }

    fn set(&mut self, parameters: &[u8], on: bool) -> At {
        if let Some(modes) = parameters.strip_prefix(b"?")
            && modes.split(|byte| *byte == b';').any(|mode| mode == b"2004")
        {
            self.bracketed_paste = on;
        }
        At::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pieces: &[&[u8]]) -> bool {
        let mut modes = Modes::default();
        pieces.iter().for_each(|piece| {
            modes.take(piece);
        });
        modes.bracketed_paste
    }

    #[test]
    fn pasting_is_marked_from_on_to_off() {
        assert!(after(&[b"hi\x1b[?2004hthere"]));
        assert!(after(&[b"\x1b[?25;2004;1h"]));
        assert!(!after(&[b"\x1b[?2004h", b"\x1b[?2004l"]));
        assert!(!after(&[b"\x1b[?2004h\x1bc"]));
    }

    #[test]
    fn a_sequence_may_come_in_pieces_and_others_are_passed_over() {
        assert!(after(&[b"\x1b", b"[?2", b"004", b"h"]));
        assert!(!after(&[b"\x1b[2004h", b"\x1b[?20041h", b"[?2004h", b"\x1b[?2004$p", b"\x1b]0;?2004h\x07"]));
        assert!(after(&[b"\x1b[\x1b[?2004h"]));
    }
}
