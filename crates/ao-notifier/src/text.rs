//! Formats the text of a notice within the limits of a channel, without anything that the channel would interpret.

use ao_core::incident::Subject;
use ao_core::notice::Notice;

/// Returns the title: the level and the subject, by the name that people use.
pub(crate) fn title(notice: &Notice) -> String {
    let what = match (&notice.subject, &notice.about.session) {
        (Subject::Session(_), Some(name)) => name.clone(),
        (subject, _) => subject.to_string(),
    };
    plain(&format!("{}: {what}", notice.level.word())).replace(['\n', '\t'], " ")
}

/// Returns the trimmed text.
pub(crate) fn body(notice: &Notice) -> String {
    plain(&notice.text).trim().to_owned()
}

/// Returns the title and the text.
pub(crate) fn whole(notice: &Notice) -> String {
    format!("{}\n{}", title(notice), body(notice)).trim_end().to_owned()
}

/// Truncates a text to `most` UTF-16 units, as the strictest channels count. `escape` returns the replacement of a
/// character, if any; replacements count too, and are never split.
pub(crate) fn fit(text: &str, most: usize, mut escape: impl FnMut(char) -> Option<&'static str>) -> String {
    let units = |text: &str| text.encode_utf16().count();
    let (mut out, mut used) = (String::new(), 0);
    // The length that leaves room for the ellipsis.
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

/// Builds a text of at most `most` units, with lines below it that are never truncated. `text` gets the remaining room.
pub(crate) fn with_lines(most: usize, lines: &[String], text: impl FnOnce(usize) -> String) -> String {
    let below: String = lines.iter().map(|line| format!("\n{line}")).collect();
    match most.checked_sub(below.encode_utf16().count()) {
        Some(room) if !below.is_empty() => text(room) + &below,
        // If links leave no room for the text, they are dropped.
        _ => text(most),
    }
}

/// Escapes nothing.
pub(crate) fn as_it_is(_: char) -> Option<&'static str> {
    None
}

/// Escapes what would begin a link, a mention or a tag, for Slack and desktops.
pub(crate) fn entities(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

/// Removes control characters, and those that change the writing direction.
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
    fn replacements_are_counted_and_not_split() {
        assert_eq!(fit("a<b", 6, entities), "a&lt;b");
        assert_eq!(fit("a<b", 5, entities), "a…");
        assert_eq!(fit("<<<", 9, entities), "&lt;&lt;…");
    }

    #[test]
    fn commands_and_turns_are_left_out() {
        assert_eq!(plain("a\u{1b}[2Jb\r\nc\u{202e}d\t\u{0}e"), "a[2Jb\ncd\te");
    }
}
