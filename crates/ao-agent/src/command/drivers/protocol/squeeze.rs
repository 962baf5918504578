//! Splits a stream of JSON lines, and shortens the strings of long ones.

/// Longest string that is kept whole. Longer ones are cut, and end with a mark.
const STRING_MOST: usize = 64 * 1024;
/// Length of a line from which on strings are cut short, so that one line cannot fill the memory.
const LINE_FULL: usize = 192 * 1024;
/// Longest string in such a line.
const STRING_SHORT: usize = 256;
/// Longest line that is kept. A longer one, which has too many parts, is skipped.
const LINE_MOST: usize = 256 * 1024;
/// The end of a string that was cut.
const MARK: &str = "…";

/// Gathers bytes into lines of bounded length, whatever the length of the original.
///
/// A request for permission may carry a file of megabytes. Its ids and its kind are needed, and the beginning of each text is
/// enough for a person; so strings are cut and everything else is kept. Lines that are not JSON are cut at the end.
#[derive(Debug, Default)]
pub(in crate::command) struct LineSqueezer {
    line: Vec<u8>,
    state: SqueezeState,
}

/// The place in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SqueezeState {
    /// Before the first byte that is not a space.
    #[default]
    Begin,
    /// In a line that is not JSON.
    Plain,
    /// Outside of strings.
    Outside,
    /// In a string, of which this much is kept.
    Inside { kept: usize, escape: Escape },
    /// In the rest of a string that was cut. `true` after a backslash.
    Cut { escaped: bool },
    /// In the rest of a line that is skipped.
    Skip,
}

/// The place in an escape sequence. A string is cut only between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// After the backslash.
    Begun,
    /// In `\uXXXX`, with the digits that are missing and the value of the others.
    Digits {
        left: u8,
        value: u16,
    },
    /// After the first half of a pair of `\uXXXX`.
    Half,
}

impl LineSqueezer {
    /// Takes the next piece and returns the lines it completes. Invalid UTF-8 is replaced.
    pub(in crate::command) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in bytes {
            if *byte == b'\n' {
                lines.extend(self.finish());
            } else {
                self.take(*byte);
            }
        }
        lines
    }

    /// Returns the last line if it was not terminated.
    pub(in crate::command) fn finish(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let state = std::mem::take(&mut self.state);
        (state != SqueezeState::Skip && !line.is_empty())
            .then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Skips the rest of a line whose beginning is lost.
    pub(in crate::command) fn skip_line(&mut self) {
        (self.line, self.state) = (Vec::new(), SqueezeState::Skip);
    }

    fn take(&mut self, byte: u8) {
        use SqueezeState as S;
        self.state = match self.state {
            S::Skip => return,
            S::Begin if byte.is_ascii_whitespace() => return,
            S::Begin | S::Outside if byte == b'"' => S::Inside { kept: 0, escape: Escape::None },
            S::Begin if matches!(byte, b'{' | b'[') => S::Outside,
            S::Begin => S::Plain,
            S::Plain if self.line.len() >= STRING_MOST => return,
            state @ (S::Plain | S::Outside) => state,
            S::Inside { kept, escape } => return self.take_inside(byte, kept, escape),
            S::Cut { escaped: false } if byte == b'"' => S::Outside,
            S::Cut { escaped } => {
                self.state = S::Cut { escaped: !escaped && byte == b'\\' };
                return;
            }
        };
        self.keep(byte);
    }

    fn take_inside(&mut self, byte: u8, kept: usize, escape: Escape) {
        let most = if self.line.len() > LINE_FULL { STRING_SHORT } else { STRING_MOST };
        // Not within a character: its first byte is no continuation.
        let may_cut = escape == Escape::None && byte & 0xc0 != 0x80 && byte != b'"';
        if kept >= most && may_cut {
            self.line.extend_from_slice(MARK.as_bytes());
            self.state = SqueezeState::Cut { escaped: byte == b'\\' };
            return;
        }
        let next = match (escape, byte) {
            (Escape::None | Escape::Half, b'\\') => Escape::Begun,
            (Escape::None | Escape::Half, b'"') => {
                self.state = SqueezeState::Outside;
                return self.keep(byte);
            }
            (Escape::None | Escape::Half, _) => Escape::None,
            (Escape::Begun, b'u') => Escape::Digits { left: 4, value: 0 },
            (Escape::Begun, _) => Escape::None,
            (Escape::Digits { left, value }, digit) => {
                let digit = char::from(digit).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
                let value = value << 4 | digit.unwrap_or_default();
                match (left, value) {
                    (1, 0xd800..0xdc00) => Escape::Half,
                    (1, _) => Escape::None,
                    _ => Escape::Digits { left: left - 1, value },
                }
            }
        };
        self.state = SqueezeState::Inside { kept: kept + 1, escape: next };
        self.keep(byte);
    }

    fn keep(&mut self, byte: u8) {
        self.line.push(byte);
        if self.line.len() > LINE_MOST {
            self.skip_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn squeezed(line: &str) -> Vec<String> {
        LineSqueezer::default().push(format!("{line}\n").as_bytes())
    }

    #[test]
    fn a_line_of_64_mib_needs_little_memory_and_keeps_its_ids() {
        let mut squeezer = LineSqueezer::default();
        let mut lines = squeezer.push(br#"{"id":7,"method":"ask","params":{"content":""#);
        let piece = "0123456789abcd\\n".repeat(4096);
        for _ in 0..1024 {
            lines.extend(squeezer.push(piece.as_bytes()));
            assert!(squeezer.line.capacity() <= 2 * LINE_MOST);
        }
        lines.extend(squeezer.push(b"\",\"path\":\"a.txt\"}}\n{\"id\":8}\n"));
        let first: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((&first["id"], &first["params"]["path"]), (&json!(7), &json!("a.txt")));
        let content = first["params"]["content"].as_str().unwrap();
        assert!(content.starts_with("0123456789abcd\n0123") && content.ends_with('…'), "{}", content.len());
        assert_eq!(lines[1], r#"{"id":8}"#);
    }

    #[test]
    fn many_long_strings_are_cut_short_and_too_many_parts_are_skipped() {
        let texts = vec!["x".repeat(STRING_MOST); 40];
        let line = squeezed(&json!({ "texts": texts, "id": 1 }).to_string()).remove(0);
        assert!(line.len() <= LINE_MOST, "{}", line.len());
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((value["texts"].as_array().map(Vec::len), &value["id"]), (Some(40), &json!(1)));
        assert_eq!(squeezed(&json!(vec![1; LINE_MOST]).to_string()), [""; 0]);
    }

    #[test]
    fn the_rest_of_a_lost_line_is_skipped() {
        let mut squeezer = LineSqueezer::default();
        squeezer.skip_line();
        assert_eq!(squeezer.push(b"rest\"}\n{\"id\":1}\n"), [r#"{"id":1}"#]);
        assert_eq!(squeezed("  plain \"text\" "), ["plain \"text\""]);
    }

    proptest! {
        #[test]
        fn what_is_short_is_kept_to_the_byte(text in ".{0,300}", cut in 0..300usize) {
            let line = json!({ "id": 1, "text": text }).to_string();
            let bytes = format!("{line}\n").into_bytes();
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut squeezer = LineSqueezer::default();
            let lines: Vec<String> = [squeezer.push(first), squeezer.push(second)].concat();
            prop_assert_eq!(lines, [line]);
        }

        #[test]
        fn what_is_cut_is_still_json(parts in prop::collection::vec("(\\\\u00e4|\\\\ud83d\\\\ude00|\\\\\\\\|\\\\\"|\\\\n|ü|x|😀){1,8}", 1..20)) {
            let unit = parts.concat();
            let text = unit.repeat(STRING_MOST / unit.len() + 2);
            let lines = squeezed(&format!(r#"{{"text":"{text}","id":1}}"#));
            let value: Value = serde_json::from_str(&lines[0]).unwrap();
            prop_assert_eq!(&value["id"], &json!(1));
            prop_assert!(value["text"].as_str().unwrap().ends_with('…'));
        }
    }
}
