//! What a notice says, in the room that a channel has, with nothing in it that the channel would obey.

use ao_core::incident::Subject;
use ao_core::notice::{Level, Notice};

/// The line above the text: how urgent it is, and what it is about, by the name that people use.
pub(crate) fn title(notice: &Notice) -> String {
    let what = match (&notice.subject, &notice.about.session) {
        (Subject::Session(_), Some(name)) => name.clone(),
        (subject, _) => subject.to_string(),
    };
    plain(&format!("{}: {what}", level(notice.level))).replace(['\n', '\t'], " ")
}

/// The text, without its blank ends.
pub(crate) fn body(notice: &Notice) -> String {
    plain(&notice.text).trim().to_owned()
}

/// Both.
pub(crate) fn whole(notice: &Notice) -> String {
    format!("{}\n{}", title(notice), body(notice)).trim_end().to_owned()
}

pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Action => "action",
        Level::Urgent => "urgent",
    }
}

/// Cuts a text to `most` units of UTF-16, which is how the strictest channels count. `escape` says how a character is
/// written if not as itself; what it writes is counted too, and never cut in two.
pub(crate) fn fit(text: &str, most: usize, mut escape: impl FnMut(char) -> Option<&'static str>) -> String {
    let units = |text: &str| text.encode_utf16().count();
    let (mut out, mut used) = (String::new(), 0);
    // How much of it leaves room for the mark that something is missing.
    let mut short = 0;
    for c in text.chars() {
        let mut room = [0; 4];
        let piece = escape(c).unwrap_or_else(|| c.encode_utf8(&mut room));
        used += units(piece);
        if used > most {
            out.truncate(short);
            out.push('…');
            return out;
        }
        out.push_str(piece);
        if used < most {
            short = out.len();
        }
    }
    out
}

/// A text of at most `most` units, with lines below it that are never cut. `text` makes it in the room that is left.
pub(crate) fn with_lines(most: usize, lines: &[String], text: impl FnOnce(usize) -> String) -> String {
    let below: String = lines.iter().map(|line| format!("\n{line}")).collect();
    match most.checked_sub(below.encode_utf16().count()) {
        Some(room) if !below.is_empty() => text(room) + &below,
        // Links that leave no room for the words are no use.
        _ => text(most),
    }
}

/// Nothing is written otherwise than it is.
pub(crate) fn as_it_is(_: char) -> Option<&'static str> {
    None
}

/// How Slack and the desktops want what would begin a link, a mention or a tag.
pub(crate) fn entities(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

/// Without characters that are commands, or that show a text in another order than it is in.
fn plain(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text = text.replace("\r\n", "\n");
    text.chars().filter(|c| (!c.is_control() || matches!(c, '\n' | '\t')) && !turns(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_left_alone() {
        assert_eq!(fit("abc", 3, as_it_is), "abc");
        assert_eq!(fit("", 3, as_it_is), "");
    }

    #[test]
    fn a_cut_is_marked_and_falls_between_characters() {
        assert_eq!(fit("abcd", 3, as_it_is), "ab…");
        // Each of them is two units long.
        assert_eq!(fit("🦀🦀", 4, as_it_is), "🦀🦀");
        assert_eq!(fit("🦀🦀", 3, as_it_is), "🦀…");
    }

    #[test]
    fn what_is_written_for_a_character_is_counted_and_not_cut() {
        assert_eq!(fit("a<b", 6, entities), "a&lt;b");
        assert_eq!(fit("a<b", 5, entities), "a…");
        assert_eq!(fit("<<<", 9, entities), "&lt;&lt;…");
    }

    #[test]
    fn commands_and_turns_are_left_out() {
        assert_eq!(plain("a\u{1b}[2Jb\r\nc\u{202e}d\t\u{0}e"), "a[2Jb\ncd\te");
    }
}
