//! Splits a stream of bytes into lines.

use super::LINE_MOST;

/// Gathers bytes into lines. Holds at most one line of maximal length; longer ones are skipped.
#[derive(Debug, Default)]
pub struct LineSplitter {
    partial: Vec<u8>,
    /// True in the middle of a line that is too long.
    skipping: bool,
}

impl LineSplitter {
    /// Takes the next piece and returns the lines it completes. Invalid UTF-8 is replaced.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if !self.skipping {
                self.partial.extend_from_slice(piece);
                if self.partial.len() > LINE_MOST {
                    self.skipping = true;
                    self.partial = Vec::new();
                }
            }
            if ends {
                if !self.skipping {
                    lines.push(String::from_utf8_lossy(&self.partial).trim_end().to_owned());
                }
                self.partial.clear();
                self.skipping = false;
            }
        }
        lines
    }

    /// Returns the last line if it was not terminated.
    pub fn finish(&mut self) -> Option<String> {
        let partial = std::mem::take(&mut self.partial);
        (!partial.is_empty()).then(|| String::from_utf8_lossy(&partial).trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_not() {
        let mut splitter = LineSplitter::default();
        assert_eq!(splitter.push(b"a\nb"), ["a"]);
        for _ in 0..10 {
            assert_eq!(splitter.push(&[b'x'; LINE_MOST / 4]), [""; 0]);
            assert!(splitter.partial.len() <= LINE_MOST);
        }
        assert_eq!(splitter.push(b"x\nc\r\n\xff\nend"), ["c", "\u{fffd}"]);
        assert_eq!(splitter.finish().as_deref(), Some("end"));
        assert_eq!(splitter.finish(), None);
    }

    proptest! {
        #[test]
        fn how_it_was_cut_makes_no_difference(text in "[a-c\n]{0,200}", cuts in prop::collection::vec(1..20usize, 0..50)) {
            let whole = LineSplitter::default().push(text.as_bytes());
            let mut splitter = LineSplitter::default();
            let (mut rest, mut lines) = (text.as_bytes(), Vec::new());
            for cut in cuts {
                let (piece, left) = rest.split_at(cut.min(rest.len()));
                lines.extend(splitter.push(piece));
                rest = left;
            }
            lines.extend(splitter.push(rest));
            prop_assert_eq!(lines, whole);
        }
    }
}
