//! Lines out of pieces, however they were cut.

use super::LINE_MOST;

/// Gathers bytes into lines. Holds at most one line of the longest kind; what is longer is passed over.
#[derive(Debug, Default)]
pub struct Splitter {
    partial: Vec<u8>,
    /// In the middle of a line that is too long.
    skipping: bool,
}

impl Splitter {
    /// Takes the next piece and hands out the lines it completes. What is no UTF-8 is replaced.
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

    /// Hands out the last line if nothing has ended it.
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
        let mut splitter = Splitter::default();
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
            let whole = Splitter::default().push(text.as_bytes());
            let mut splitter = Splitter::default();
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
