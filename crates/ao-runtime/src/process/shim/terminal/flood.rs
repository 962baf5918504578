//! Skips the emulation of plain text that scrolls out of sight at once.
//!
//! A terminal is done with a line when it has scrolled away. Of a long piece of plain lines only the last ones can
//! still be seen, so only those are fed: the final state is the same, to the cell.

/// Shorter pieces are not worth the check.
const WORTH: usize = 8 * 1024;

/// Returns the part of a piece that must be fed, provided all lines of the screen scroll. The piece begins outside of
/// any sequence.
pub(super) fn visible(bytes: &[u8], rows: usize) -> &[u8] {
    if bytes.len() < WORTH {
        return bytes;
    }
    // Enough lines to bring the cursor to the last row from anywhere, and then to scroll all earlier content away.
    let mut start = bytes.len();
    for _ in 0..2 * rows + 2 {
        match memchr::memrchr(b'\n', &bytes[..start]) {
            Some(at) => start = at,
            None => return bytes,
        }
    }
    let (before, rest) = bytes.split_at(start + 1);
    // It must begin in the first column, and nothing before it may change more than the text.
    if before.ends_with(b"\r\n") && is_plain(before) { rest } else { bytes }
}

/// Returns true if it is text and line ends only: no escapes, no control characters, and no bytes that could be some.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) | matches!(byte, b'\t' | b'\n' | b'\r');
    // No early exit within a chunk, so that the compiler can vectorize the loop.
    bytes.chunks(256).all(|chunk| chunk.iter().fold(true, |all, byte| all & plain(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_lines_are_passed_over() {
        let lines = "some text\r\n".repeat(2000);
        assert_eq!(visible(lines.as_bytes(), 24).len(), 11 * 49);
        assert_eq!(visible("x".repeat(20_000).as_bytes(), 24).len(), 20_000);
        let bare = lines.replace('\r', "");
        assert_eq!(visible(bare.as_bytes(), 24).len(), bare.len(), "stairs end anywhere");
        for odd in ["\x1b[31m", "\x0e", "\u{85}", "\x08"] {
            let text = format!("{odd}{lines}");
            assert_eq!(visible(text.as_bytes(), 24).len(), text.len());
        }
    }
}
