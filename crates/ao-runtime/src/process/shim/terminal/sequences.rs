//! Splits the output, never inside an escape sequence or a character.
//!
//! The emulator is fed whole sequences only. An unfinished one waits here, so a keyframe is the emulator's state
//! followed by those few bytes.

/// Most bytes that wait. A longer string (a picture, a clipboard) is not passed to the emulator, which could not show
/// it anyway and would hold all of it in memory.
const MOST: usize = 64 * 1024;

const ESC: u8 = 0x1b;

/// Bytes of an unfinished sequence.
#[derive(Debug, Default)]
pub(super) struct UnfinishedSequence {
    bytes: Vec<u8>,
    /// The string was too long; `bytes` holds only its two-byte introducer, and the rest is skipped.
    over: bool,
}

impl UnfinishedSequence {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the next bytes and passes on whole sequences.
    pub(super) fn take(&mut self, bytes: &[u8], mut on: impl FnMut(&[u8])) {
        let mut bytes = bytes;
        if self.over {
            // Only these end a string; BEL ends only an OSC.
            let ends =
                |byte: &u8| matches!(byte, &ESC | 0x18 | 0x1a) || (*byte == 0x07 && self.bytes[1] == b']');
            let Some(end) = bytes.iter().position(ends) else { return };
            (self.over, bytes) = (false, &bytes[end..]);
            // The terminator must not end something else.
            if bytes[0] != ESC {
                bytes = &bytes[1..];
            }
            self.bytes.clear();
        }
        if self.bytes.is_empty() {
            let whole = whole(bytes);
            on(&bytes[..whole]);
            self.bytes.extend_from_slice(&bytes[whole..]);
        } else {
            self.bytes.extend_from_slice(bytes);
            let whole = whole(&self.bytes);
            on(&self.bytes[..whole]);
            self.bytes.drain(..whole);
        }
        if self.bytes.len() > MOST {
            self.bytes.truncate(2);
            self.over = true;
        }
        if self.bytes.is_empty() && self.bytes.capacity() > 4096 {
            self.bytes = Vec::new();
        }
    }
}

/// Returns how many of these bytes are whole sequences. They begin outside of any.
///
/// Only the last escape matters: it ends every open sequence before it.
fn whole(bytes: &[u8]) -> usize {
    match memchr::memrchr3(ESC, 0x18, 0x1a, bytes) {
        Some(at) if bytes[at] == ESC && !is_ended(&bytes[at + 1..]) => at,
        _ => bytes.len() - cut_character(bytes),
    }
}

/// Returns true if the sequence behind an escape is complete. It contains no other escape.
fn is_ended(rest: &[u8]) -> bool {
    let controls = rest.iter().take_while(|byte| **byte < 0x20 || **byte > 0x7e).count();
    match rest.get(controls) {
        None => false,
        Some(b'[') => rest[controls + 1..].iter().any(|byte| (0x40..=0x7e).contains(byte)),
        Some(b']') => memchr::memchr(0x07, &rest[controls + 1..]).is_some(),
        // Strings that only another escape ends.
        Some(b'P' | b'X' | b'^' | b'_') => false,
        Some(0x20..=0x2f) => rest[controls + 1..].iter().any(|byte| (0x30..=0x7e).contains(byte)),
        Some(_) => true,
    }
}

/// Returns the length of the incomplete character at the end, or 0.
fn cut_character(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    for (back, byte) in tail.iter().rev().enumerate() {
        let wants = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        let cut = &bytes[bytes.len() - back - 1..];
        let is_cut =
            cut.len() < wants && std::str::from_utf8(cut).is_err_and(|err| err.error_len().is_none());
        return if is_cut { cut.len() } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &str, waits: &str) {
        let bytes = bytes.as_bytes();
        assert_eq!(&bytes[whole(bytes)..], waits.as_bytes(), "{:?}", bytes.escape_ascii().to_string());
    }

    #[test]
    fn an_unfinished_sequence_waits() {
        check("plain", "");
        check("a\x1b", "\x1b");
        check("a\x1b[31", "\x1b[31");
        check("a\x1b[31mb", "");
        check("\x1b]0;title", "\x1b]0;title");
        check("\x1b]0;title\x07", "");
        check("\x1b]0;title\x1b", "\x1b");
        check("\x1b]0;title\x1b\\", "");
        check("\x1bPq#0", "\x1bPq#0");
        check("\x1b(", "\x1b(");
        check("\x1b(0", "");
        check("\x1b[1\x18", "");
        let cut = "a\u{20ac}".as_bytes();
        assert_eq!(whole(&cut[..3]), 1);
        assert_eq!(whole(b"a\xff"), 2, "no character begins like this");
    }

    #[test]
    fn a_string_without_end_is_passed_over() {
        let mut waiting = UnfinishedSequence::default();
        let mut seen = Vec::new();
        waiting.take(b"a\x1b]52;c;", |bytes| seen.extend_from_slice(bytes));
        for _ in 0..100 {
            waiting.take(&[b'x'; 4096], |bytes| seen.extend_from_slice(bytes));
        }
        assert_eq!(waiting.bytes(), b"\x1b]");
        waiting.take(b"xx\x07b", |bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, b"ab");
        assert!(waiting.bytes().is_empty());
    }
}
