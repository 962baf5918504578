//! Splits Rust source into code and comments, so that a rule does not find its pattern in a string.
//!
//! Not a parser: it knows comments, strings and characters, which is enough for the rules. `syn` would know more and
//! make the build of xtask heavier.

/// The same source twice, each with the other part blanked out; positions and lines stay.
#[derive(Debug)]
pub(super) struct RustText {
    /// Without comments and the content of strings.
    pub(super) code: String,
    /// Comments only.
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum TextKind {
    Code,
    Comment,
    /// The inside of a string or character.
    Literal,
}

impl RustText {
    pub(super) fn of(source: &str) -> RustText {
        let mut text = RustText { code: String::new(), comments: String::new() };
        let mut rest = source;
        while let Some((part, length)) = next(rest, text.code.chars().last()) {
            for char in rest[..length].chars() {
                let blank = if char == '\n' { '\n' } else { ' ' };
                text.code.push(if part == TextKind::Code { char } else { blank });
                text.comments.push(if part == TextKind::Comment { char } else { blank });
            }
            rest = &rest[length..];
        }
        text
    }

    /// Returns the code before the unit tests at its end, which may break rules of the product.
    pub(super) fn product_code(&self) -> &str {
        let mut at = 0;
        while let Some(found) = self.code[at..].find("#[cfg(test)]") {
            let after = &self.code[at + found + "#[cfg(test)]".len()..];
            let item = after.trim_start().trim_start_matches("pub(crate) ");
            let has_body = item.find(['{', ';']).is_some_and(|at| item[at..].starts_with('{'));
            if item.starts_with("mod ") && has_body {
                return &self.code[..at + found];
            }
            at += found + 1;
        }
        &self.code
    }
}

/// Returns the kind and the length of the first part of the text.
fn next(rest: &str, before: Option<char>) -> Option<(TextKind, usize)> {
    let first = rest.chars().next()?;
    let inside_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return Some((TextKind::Comment, rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return Some((TextKind::Comment, block_comment(rest)));
    }
    if first == '"' {
        return Some((TextKind::Literal, quoted(rest, '"')));
    }
    if first == 'r'
        && !inside_word
        && let Some(length) = raw_string(rest)
    {
        return Some((TextKind::Literal, length));
    }
    // `br"..."` and `cr"..."`: the letter before `r` is code, the rest a raw string.
    if matches!(first, 'b' | 'c')
        && !inside_word
        && let Some(length) = raw_string(&rest[1..])
    {
        return Some((TextKind::Literal, 1 + length));
    }
    if first == '\'' && is_character(rest) {
        return Some((TextKind::Literal, quoted(rest, '\'')));
    }
    Some((TextKind::Code, first.len_utf8()))
}

/// Returns the length of a block comment, which may contain others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Returns the length of a string or character with its quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if char == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of `r"…"` or `r#"…"#`, if this is one.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.strip_prefix('r')?.chars().take_while(|&c| c == '#').count();
    let inside = rest[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close).map_or(inside.len(), |at| at + close.len());
    Some(1 + hashes + 1 + end)
}

/// Returns `true` if a `'` starts a character, not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Numbers the lines of a text, from 1.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// Returns `true` if `word` occurs and is not part of a longer one.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part)
            && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        RustText::of(source).code
    }

    #[test]
    fn strings_and_comments_are_blank_and_lines_stay() {
        let source = "let a = \"x // y\"; // why\n/* /* z */\n */ let b = 'q'; let c = '\\''; fn f<'a>() {}";
        let text = RustText::of(source);
        assert_eq!(text.code.lines().next(), Some("let a =         ;       "));
        assert_eq!(text.code.lines().count(), source.lines().count());
        assert!(text.code.ends_with("let b =    ; let c =     ; fn f<'a>() {}"), "{}", text.code);
        assert!(text.comments.contains("// why") && !text.comments.contains("let"), "{}", text.comments);
    }

    #[test]
    fn raw_strings_end_where_they_say() {
        assert_eq!(code("f(r#\"a \" b\"#, br\"c\", c\"d\", var)"), "f(          ,      , c   , var)");
    }

    #[test]
    fn unit_tests_at_the_end_are_not_product_code() {
        let text =
            RustText::of("use a;\n#[cfg(test)]\nuse b;\nfn f() {}\n#[cfg(test)]\nmod tests {\n use c;\n}\n");
        assert_eq!(text.product_code(), "use a;\n#[cfg(test)]\nuse b;\nfn f() {}\n");
    }

    #[test]
    fn a_test_module_in_another_file_hides_nothing() {
        let text = RustText::of("#[cfg(test)]\nmod tests;\nfn f() {}\n");
        assert!(text.product_code().contains("fn f"));
    }

    #[test]
    fn words_are_whole_words() {
        assert!(has_word("use rand::Rng", "rand"));
        assert!(!has_word("operand random rand_core", "rand"));
    }
}
