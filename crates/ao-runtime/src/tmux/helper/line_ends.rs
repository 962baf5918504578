//! Line ends as the program wrote them: its terminal puts a carriage return before each.

/// Takes back what a terminal has added to the line ends of a program that does not know that it has one.
///
/// The terminal turns every `\n` into `\r\n`, so the one carriage return before it is never the program's own.
#[derive(Debug, Default)]
pub(super) struct LineEnds {
    /// The last piece ended with a carriage return, of which the next byte tells whose it was.
    waits: bool,
}

impl LineEnds {
    /// Goes through output, in pieces of any size.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(bytes.len() + 1);
        for byte in bytes {
            if self.waits && *byte != b'\n' {
                plain.push(b'\r');
            }
            self.waits = *byte == b'\r';
            if !self.waits {
                plain.push(*byte);
            }
        }
        plain
    }

    /// What is left when nothing comes any more.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.waits) { b"\r" } else { b"" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_terminal_added_is_taken_back_however_it_was_cut() {
        let written = b"one\ntwo\r\n50%\r100%\n\n\r\r\n\r";
        let shown: Vec<u8> = written
            .iter()
            .flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] })
            .collect();
        for size in 1..=shown.len() {
            let mut ends = LineEnds::default();
            let mut plain: Vec<u8> = shown.chunks(size).flat_map(|piece| ends.take(piece)).collect();
            plain.extend(ends.finish());
            assert_eq!(plain, written, "in pieces of {size}");
        }
    }
}
