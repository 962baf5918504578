//! Restores line ends as the program wrote them: its terminal inserts a carriage return before each.

/// Removes the carriage returns that a terminal has added to the output of a program that does not know of the
/// terminal.
///
/// The terminal turns every `\n` into `\r\n`, so the one carriage return before it is never the program's own.
#[derive(Debug, Default)]
pub(super) struct LineEnds {
    /// The last piece ended with a carriage return; the next byte shows who wrote it.
    waits: bool,
}

impl LineEnds {
    /// Processes output, in pieces of any size.
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

    /// Returns the held-back byte at the end of the output.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.waits) { b"\r" } else { b"" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_carriage_returns_are_removed_wherever_the_output_is_cut() {
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
