//! Makes untrusted text visible and harmless.
//!
//! A diff is shown to be reviewed. Characters that move the cursor, hide themselves or reverse the text direction are
//! written out.

use unicode_width::UnicodeWidthChar;

/// Columns between two tab stops.
const TAB: usize = 4;

/// Returns true if a character could affect the terminal, or how the surrounding text reads.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Passes a line on piece by piece, each with its width and its byte offset.
pub fn visible(line: &str, mut piece: impl FnMut(usize, &str, usize)) {
    let mut column = 0;
    for (at, c) in line.char_indices() {
        let width = match c {
            '\t' => {
                let width = TAB - column % TAB;
                piece(at, &"    "[..width], width);
                width
            }
            '\0'..='\u{1f}' => {
                // In caret notation: `^[` for escape.
                let named = format!("^{}", char::from(c as u8 + b'@'));
                piece(at, &named, 2);
                2
            }
            '\u{7f}' => {
                piece(at, "^?", 2);
                2
            }
            c if steers(c) => {
                let named = format!("<U+{:04X}>", u32::from(c));
                piece(at, &named, named.len());
                named.len()
            }
            c => {
                let width = c.width().unwrap_or(0);
                piece(at, c.encode_utf8(&mut [0; 4]), width);
                width
            }
        };
        column += width;
    }
}

/// Returns a text whose lines can be printed safely.
pub fn safe_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.strip_suffix('\r').unwrap_or(line), "\n"),
            None => (line, ""),
        };
        visible(line, |_, piece, _| safe.push_str(piece));
        safe.push_str(end);
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(line: &str) -> String {
        let mut shown = String::new();
        visible(line, |_, piece, _| shown.push_str(piece));
        shown
    }

    #[test]
    fn whatever_would_steer_is_written_out() {
        for (line, right) in [
            ("plain", "plain"),
            ("\x1b[2Jx", "^[[2Jx"),
            ("a\rb", "a^Mb"),
            ("\u{9b}31m", "<U+009B>31m"),
            ("\x7f\0\x07", "^?^@^G"),
            ("if admin\u{202e} }\u{2066}", "if admin<U+202E> }<U+2066>"),
            ("a\u{200b}b", "a<U+200B>b"),
            ("漢字 é 👩\u{200d}🚀", "漢字 é 👩\u{200d}🚀"),
            ("\tx", "    x"),
            ("ab\tx", "ab  x"),
            ("漢\tx", "漢  x"),
        ] {
            assert_eq!(shown(line), right, "{line:?}");
        }
        assert_eq!(safe_lines("a\x1b\r\nb"), "a^[\nb");
    }

    proptest! {
        #[test]
        fn nothing_is_shown_that_steers(line in "\\PC{0,20}|[\\x00-\\xff\u{2000}-\u{2070}]{0,40}") {
            prop_assert!(!shown(&line).chars().any(steers));
        }
    }
}
