//! Issues that a change closes: `Closes #4`, `fixes: my-app#7`, `Resolved #12`.

use std::collections::BTreeSet;

use crate::{ProjectId, TaskId};

/// The keywords before an issue, as on well-known forges.
const WORDS: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// Returns the issues of a project that a text closes. Each needs its own keyword: `Closes #1, #2` closes only the
/// first, because the rest of the sentence may well name an issue that stays open.
pub fn settled_by(text: &str, project: &ProjectId) -> BTreeSet<TaskId> {
    let mut settled = BTreeSet::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(next) = words.peek().filter(|_| settles(word)) else { continue };
        if let Some(key) = key_of(next, project) {
            settled.insert(TaskId { project: project.clone(), key });
        }
    }
    settled
}

fn settles(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = word.strip_suffix(':').unwrap_or(word);
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the number after `#`, alone or after the name of this project.
fn key_of(word: &str, project: &ProjectId) -> Option<String> {
    let word = word.trim_start_matches(['(', '[', '*', '_', '`', '"', '\'']);
    let (of, rest) = word.split_once('#')?;
    if !of.is_empty() && of != project.as_str() {
        return None;
    }
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let behind = rest[digits.len()..].chars().next();
    let ends = behind.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '#' | '/')));
    (ends && !digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_is_settled_by_a_word_right_before_it() {
        let cases: &[(&str, &[&str])] = &[
            ("Closes #4", &["4"]),
            ("closes: #4.", &["4"]),
            ("FIXED my-app#7, and resolves #8!", &["7", "8"]),
            ("This\nresolves\n#12\nat last", &["12"]),
            ("(fixes #3)", &["3"]),
            ("**Closes** #5", &[]),
            ("Closes #1, #2 stays open", &["1"]),
            ("see #4", &[]),
            ("prefixes #4", &[]),
            ("closes other#4", &[]),
            ("closes owner/my-app#4", &[]),
            ("closes #", &[]),
            ("closes #x4", &[]),
            ("closes #4th", &[]),
            ("closes # 4", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let settled = settled_by(text, &ProjectId::new("my-app"));
            let keys: Vec<&str> = settled.iter().map(|task| task.key.as_str()).collect();
            assert_eq!(keys, *expected, "{text}");
        }
    }
}
