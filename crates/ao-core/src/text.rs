//! Cleans the text of messages, so that it presses no keys in an agent's terminal.
//!
//! Every message is cleaned when it arrives, so the stored, typed and proven text are the same.

/// The longest escape sequence in bytes that is removed as a whole. No real one is nearly as long, and one without an
/// end must not remove the rest of the message.
const SEQUENCE_MOST: usize = 4096;

/// Makes a text safe to be typed or pasted into a terminal, and changes nothing else:
///
/// - a line break of any kind (CR LF, CR, vertical tab, form feed, next line) becomes one LF;
/// - escape sequences (CSI, OSC, DCS, PM, APC, SOS, and those of two bytes) are removed whole, if they end;
/// - any other control character (C0, DEL, C1) is removed, but tabs and LF stay.
///
/// So a text presses no key and ends no paste, and cleaning it twice is cleaning it once.
pub fn sanitise(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        rest = match c {
            '\r' => {
                clean.push('\n');
                behind.strip_prefix('\n').unwrap_or(behind)
            }
            '\u{b}' | '\u{c}' | '\u{85}' => {
                clean.push('\n');
                behind
            }
            '\u{1b}' => after_escape(behind),
            '\u{9b}' => after_csi(behind),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => after_string(behind),
            '\n' | '\t' => {
                clean.push(c);
                behind
            }
            c if c.is_control() => behind,
            c => {
                clean.push(c);
                behind
            }
        };
    }
    clean
}

/// Returns the text after an escape sequence, given the text after its escape.
fn after_escape(text: &str) -> &str {
    let Some(kind) = text.chars().next() else { return text };
    let behind = &text[kind.len_utf8()..];
    match kind {
        '[' => after_csi(behind),
        ']' | 'P' | 'X' | '^' | '_' => after_string(behind),
        // A choice of character set and the like: some intermediate bytes, then a final one.
        ' '..='/' => behind.strip_prefix(|c: char| ('0'..='~').contains(&c)).unwrap_or(behind),
        '0'..='~' => behind,
        _ => text,
    }
}

fn after_csi(text: &str) -> &str {
    let end = text.bytes().take(SEQUENCE_MOST).position(|byte| !(0x20..=0x3f).contains(&byte));
    match end.map(|end| (end, text.as_bytes()[end])) {
        Some((end, 0x40..=0x7e)) => &text[end + 1..],
        // Interrupted by a character that no sequence has: only its beginning is removed.
        Some((end, _)) => &text[end..],
        None => text,
    }
}

/// Skips a string up to its terminator. Without a terminator in reach, only its beginning is removed.
fn after_string(text: &str) -> &str {
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < SEQUENCE_MOST) {
        match c {
            '\u{7}' | '\u{9c}' => return &text[at + c.len_utf8()..],
            '\u{1b}' if text[at + 1..].starts_with('\\') => return &text[at + 2..],
            '\n' | '\r' | '\u{1b}' => return text,
            _ => {}
        }
    }
    text
}

/// Returns the beginning of a text, of at most about `most` bytes, marked if something is left out.
pub fn beginning(text: &str, most: usize) -> String {
    match text.len() > most {
        true => format!("{}…", &text[..text.floor_char_boundary(most)]),
        false => text.to_owned(),
    }
}

/// Defines an enum of plain variants, each with the name under which it is stored, sent and shown.
#[macro_export]
macro_rules! word_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            /// Returns the name under which it is stored and sent.
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub use word_enum;

/// Quotes a word for a shell, if it needs quotes. Control characters are dropped.
pub fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    let needs_quotes = word.is_empty() || word.starts_with('-') || !word.chars().all(plain);
    let word: String = word.chars().filter(|c| !c.is_control()).collect();
    if needs_quotes { single_quoted(&word) } else { word }
}

/// Puts a word between single quotes, where nothing is special to a shell or to tmux.
pub fn single_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns whether two texts are equal apart from white space.
pub fn same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_for_a_shell() {
        assert_eq!(single_quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(["a/b", "", "-x", "a\tb c"].map(shell_quoted), ["a/b", "''", "'-x'", "'ab c'"]);
    }

    #[test]
    fn what_would_press_keys_is_taken_out_and_the_rest_stays() {
        for (text, clean) in [
            ("a\r\nb\rc\n\td", "a\nb\nc\n\td"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("end\u{1b}[201~\rrm -rf", "end\nrm -rf"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\y", "xy"),
            ("\u{1b}]never ends\nbut this stays", "never ends\nbut this stays"),
            ("\u{1b}[", ""),
            ("\u{1b}[3üx", "üx"),
            ("\u{1b}(Bx\u{1b}=y\u{1b}", "xy"),
            ("\u{9b}31mx\u{3}\u{4}\u{0}\u{7f}y", "xy"),
            ("one\u{b}two\u{c}three\u{85}four", "one\ntwo\nthree\nfour"),
            ("-- `code` $HOME ❤️ 日本 \u{200d}", "-- `code` $HOME ❤️ 日本 \u{200d}"),
        ] {
            assert_eq!(sanitise(text), clean, "{text:?}");
        }
    }

    #[test]
    fn a_sequence_without_an_end_takes_nothing_with_it() {
        let long = "x".repeat(2 * SEQUENCE_MOST);
        assert_eq!(sanitise(&format!("\u{1b}]{long}\u{7}")), long);
        assert_eq!(sanitise(&format!("\u{1b}[{}", "1;".repeat(SEQUENCE_MOST))), "1;".repeat(SEQUENCE_MOST));
    }

    proptest! {
        /// acceptance: M8
        #[test]
        fn a_clean_text_has_no_controls_and_stays_as_it_is(text in "(\\PC|[\\x00-\\x1f\\x7f-\\u{9f}\\[\\]~;0-9]){0,200}") {
            let clean = sanitise(&text);
            prop_assert!(clean.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
            prop_assert_eq!(&sanitise(&clean), &clean);
            if !text.chars().any(char::is_control) {
                prop_assert_eq!(clean, text);
            }
        }
    }
}
