//! Tracks a terminal mode that tmux does not expose: bracketed paste.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::files;

const FILE: &str = "modes";
/// Longer sequences are not ones that we know.
const LONGEST: usize = 64;

/// The known modes, and the state of the parser.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(in super::super) struct TerminalModes {
    pub(in super::super) bracketed_paste: bool,
    #[serde(skip)]
    at: ParserState,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum ParserState {
    #[default]
    Text,
    Escape,
    /// After `ESC [`, with the bytes since.
    Sequence(Vec<u8>),
}

impl TerminalModes {
    pub(in super::super) fn read(attempt_dir: &Path) -> TerminalModes {
        files::read(&attempt_dir.join(FILE)).ok().flatten().unwrap_or_default()
    }

    pub(super) fn keep(&self, attempt_dir: &Path) -> io::Result<()> {
        files::write(&attempt_dir.join(FILE), self)
    }

    /// Processes output, in pieces of any size. Returns true if a mode has changed.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let before = self.bracketed_paste;
        for byte in bytes {
            self.at = match (std::mem::take(&mut self.at), byte) {
                (_, 0x1b) => ParserState::Escape,
                (ParserState::Escape, b'[') => ParserState::Sequence(Vec::new()),
                // A full reset.
                (ParserState::Escape, b'c') => {
                    self.bracketed_paste = false;
                    ParserState::Text
                }
                (ParserState::Sequence(mut all), 0x20..=0x3f) if all.len() < LONGEST => {
                    all.push(*byte);
                    ParserState::Sequence(all)
                }
                (ParserState::Sequence(all), b'h') => self.set(&all, true),
                (ParserState::Sequence(all), b'l') => self.set(&all, false),
                _ => ParserState::Text,
            };
        }
        self.bracketed_paste != before
    }

    fn set(&mut self, parameters: &[u8], on: bool) -> ParserState {
        if let Some(modes) = parameters.strip_prefix(b"?")
            && modes.split(|byte| *byte == b';').any(|mode| mode == b"2004")
        {
            self.bracketed_paste = on;
        }
        ParserState::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pieces: &[&[u8]]) -> bool {
        let mut modes = TerminalModes::default();
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
