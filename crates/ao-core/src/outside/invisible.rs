//! Characters that are invisible to people but not to agents.

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';

/// Removes characters that change the reading direction, have no width, or spell text in tags and selectors. Those
/// needed for scripts and emoji stay: one joiner between two letters that are not ASCII, one variation selector after
/// a character that has variants.
pub(super) fn removed(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let before = seen.chars().next_back();
        match c {
            // Some programs treat these as line ends and others do not.
            '\u{2028}' | '\u{2029}' => seen.push('\n'),
            ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER => {
                let joins = |c: char| !c.is_ascii() && (!is_hidden(c) || is_style(c));
                let after = rest.clone().next();
                if before.is_some_and(joins) && after.is_some_and(|after| joins(after) && !is_style(after)) {
                    seen.push(c);
                }
            }
            TEXT_STYLE | EMOJI_STYLE => {
                let styled =
                    |c: char| (!c.is_ascii() && !is_hidden(c)) || c.is_ascii_digit() || "#*".contains(c);
                if before.is_some_and(styled) {
                    seen.push(c);
                }
            }
            c if is_hidden(c) => {}
            c => seen.push(c),
        }
    }
    seen
}

fn is_style(c: char) -> bool {
    matches!(c, TEXT_STYLE | EMOJI_STYLE)
}

/// Returns whether it has no shape of its own in any context.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        // Zero-width, marks of direction, and the line separators.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags and the second block of variation selectors, which can encode whole sentences.
        | '\u{e0000}'..='\u{e0fff}')
}
