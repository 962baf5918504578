//! Wraps text that people wrote: keeps its lines, wraps long ones at words, and neutralises control characters.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::diff::visible;

/// Minimum width of text, in however narrow a window.
const NARROWEST: usize = 20;

/// Renders each line with a prefix.
pub(super) fn prose(text: &str, before: &str, before_width: usize, width: Option<usize>) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(before_width).max(NARROWEST));
    let mut set = String::with_capacity(text.len() + 64);
    for line in text.trim_end().split('\n') {
        let mut safe = String::with_capacity(line.len());
        visible(line.strip_suffix('\r').unwrap_or(line), |_, piece, _| safe.push_str(piece));
        for part in wrapped(safe.trim_end(), room) {
            let _ = write!(set, "{before}{part}");
            set.truncate(set.trim_end_matches(' ').len());
            set.push('\n');
        }
    }
    set
}

/// Wraps a line. Its indentation is repeated, so that lists keep their shape.
fn wrapped(line: &str, room: usize) -> Vec<String> {
    if line.width() <= room {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let indent = if indent + NARROWEST > room { 0 } else { indent };
    let mut parts = Vec::new();
    let mut part = " ".repeat(indent);
    let mut used = indent;
    for word in line.trim_start_matches(' ').split(' ') {
        let gap = usize::from(used > indent);
        if used + gap + word.width() > room && used > indent {
            parts.push(std::mem::replace(&mut part, " ".repeat(indent)));
            used = indent;
        }
        if used > indent {
            part.push(' ');
            used += 1;
        }
        // A word that fits no line, such as a URL, is broken.
        for c in word.chars() {
            let width = c.to_string().width();
            if used + width > room {
                parts.push(std::mem::replace(&mut part, " ".repeat(indent)));
                used = indent;
            }
            part.push(c);
            used += width;
        }
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_lines_are_wrapped_at_words_and_keep_their_indent() {
        let set = |text| prose(text, "| ", 2, Some(24));
        assert_eq!(set("short\n\nnext\r\n"), "| short\n|\n| next\n");
        assert_eq!(set("  one two three four five six"), "|   one two three four\n|   five six\n");
        assert_eq!(set("x\x1b]0;title\x07y"), "| x^[]0;title^Gy\n");
        assert_eq!(set(&"a".repeat(30)), "| aaaaaaaaaaaaaaaaaaaaaa\n| aaaaaaaa\n");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_window(text in "[a-z 漢é]{0,120}", width in 22usize..60) {
            for line in prose(&text, "", 0, Some(width)).lines() {
                prop_assert!(line.width() <= width, "{line:?} in {width}");
            }
        }
    }
}
