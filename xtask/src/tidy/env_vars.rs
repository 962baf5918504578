//! Environment variables that no document names.

use std::collections::BTreeMap;

use super::TidyFinding;
use super::rust_text::{has_word, numbered};
use super::sources::SourceTree;

pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut named: BTreeMap<&str, String> = BTreeMap::new();
    for (path, source) in
        tree.rust().filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/"))
    {
        for (line, text) in numbered(source) {
            for name in variables(text) {
                named.entry(name).or_insert_with(|| format!("{path}:{line}"));
            }
        }
    }

    // Variables of the tests are for contributors.
    let is_document = |path: &str, place: &str| {
        let for_users = path == "README.md" || path.starts_with("docs/");
        for_users || (path == "CONTRIBUTING.md" && place.starts_with("crates/ao-testkit/"))
    };
    let undocumented = named.into_iter().filter(|(name, place)| {
        !tree.markdown().any(|(path, text)| is_document(path, place) && has_word(text, name))
    });
    undocumented
        .map(|(name, place)| {
            TidyFinding::new(
                place,
                format!("`{name}` is not documented"),
                "describe it and its default in README.md or under docs/",
            )
        })
        .collect()
}

/// Returns the names in a line that start with `AO_` and continue in capitals.
fn variables(line: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = line.split(|c| !part(c));
    let is_variable = |word: &&str| {
        word.strip_prefix("AO_").is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        })
    };
    words.filter(is_variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&SourceTree::of(files))
            .iter()
            .map(|finding| format!("{} {}", finding.place, finding.what))
            .collect()
    }

    #[test]
    fn a_variable_without_a_word_about_it_is_found() {
        let source = ("crates/ao/src/a.rs", "\nenv::var(\"AO_DATA_DIR\"); env::var(\"AO_DATA\");");
        assert_eq!(
            found(&[source, ("README.md", "`AO_DATA_DIR` is where"), ("notes.md", "AO_DATA")]),
            ["crates/ao/src/a.rs:2 `AO_DATA` is not documented"]
        );
        assert_eq!(
            found(&[source, ("README.md", "AO_DATA_DIR"), ("docs/env.md", "- `AO_DATA`: x")]),
            [""; 0]
        );
    }

    #[test]
    fn variables_of_the_tests_are_for_contributors() {
        let guide = ("CONTRIBUTING.md", "`AO_CACHE` is where");
        assert_eq!(found(&[("crates/ao-testkit/src/a.rs", "AO_CACHE"), guide]), [""; 0]);
        assert_eq!(found(&[("crates/ao/src/a.rs", "AO_CACHE"), guide]).len(), 1);
    }

    #[test]
    fn only_whole_names_in_capitals_are_variables() {
        assert_eq!(variables("AO_ AO_x MY_AO_X (AO_X2) \"AO_Y=1\""), ["AO_X2", "AO_Y"]);
    }
}
