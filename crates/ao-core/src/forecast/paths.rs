//! Files that a text names. Nothing is guessed: a token counts if it looks like a path, and matches a file by its
//! path, a suffix of its path, or a folder above it.

use std::collections::BTreeSet;

/// The number of bytes of a text that are read.
const READ: usize = 16 * 1024;
/// The number of names that are kept.
const KEPT: usize = 64;

/// Returns the tokens of a text that may be paths.
pub(crate) fn named(text: &str) -> Vec<String> {
    let end = (0..=READ.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let between = |c: char| {
        c.is_whitespace()
            || matches!(c, '`' | '"' | '\'' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ';' | '|')
    };
    let words = text[..end].split(between).map(|word| {
        // `src/a.rs:12` is a line of a file, and a full stop ends a sentence.
        let word = word.trim_end_matches(['.', ':', '!', '?', '*']).trim_start_matches(['*', '@']);
        let word = word.split_once(':').map_or(word, |(path, _)| path);
        word.trim_start_matches("./").trim_end_matches('/')
    });
    let found: BTreeSet<&str> = words.filter(|word| is_path(word)).take(KEPT * 4).collect();
    found.into_iter().take(KEPT).map(str::to_owned).collect()
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    (3..=200).contains(&word.len())
        && !word.starts_with(['-', '/', '.', '~'])
        && !word.contains("//")
        && !word.contains("..")
        && (word.contains('/') || has_ending && word.len() > 3)
        && word.chars().any(|c| c.is_alphabetic())
}

/// Returns the tokens that name a file: its path, each suffix of its path, and each folder above it that has more
/// than one component.
pub(super) fn words_for(path: &str) -> impl Iterator<Item = &str> {
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let ends = slashes.clone().into_iter().map(|at| &path[at + 1..]);
    let folders = slashes.into_iter().skip(1).map(|at| &path[..at]);
    std::iter::once(path).chain(ends).chain(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_what_people_write() {
        let text = "Fix `src/auth/login.rs:42` (see ./docs/auth.md), and 'lib.rs'. Not e.g. this, v1.2, 3/4, \
                    https://example.com/a/b, /etc/passwd, ../up, or and/or?\nfiles: [crates/core/, web/app.tsx]";
        assert_eq!(
            named(text),
            ["and/or", "crates/core", "docs/auth.md", "lib.rs", "src/auth/login.rs", "web/app.tsx"]
        );
        assert!(named(&"a/b ".repeat(100_000)).len() <= KEPT);
    }

    #[test]
    fn a_word_names_a_file_by_its_path_its_end_or_its_folder() {
        for (word, path, is) in [
            ("src/a.rs", "src/a.rs", true),
            ("a.rs", "src/a.rs", true),
            ("a.rs", "src/aa.rs", false),
            ("src/auth", "src/auth/login.rs", true),
            ("src/auth", "src/authority.rs", false),
            ("and/or", "src/a.rs", false),
        ] {
            assert_eq!(words_for(path).any(|known| known == word), is, "{word} {path}");
        }
    }
}
