//! An issue and its limits, independent of where it is stored.

use std::collections::BTreeSet;

use ao_core::pull::AuthorFacts;
use ao_core::{ProjectId, TaskId, Timestamp};
use ao_ports::TrackerError;
use serde::{Deserialize, Serialize};

/// Most characters of a title. Longer ones break lists and commit messages.
pub(crate) const MAX_TITLE: usize = 256;
/// Most bytes of a body and of a comment.
pub(crate) const MAX_BODY: usize = 64 * 1024;
pub(crate) const MAX_LABELS: usize = 100;
/// Most characters of a label, a login or a key.
const MAX_WORD: usize = 256;
const MAX_BLOCKERS: usize = 100;

/// An issue of one project, without its comments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) labels: BTreeSet<String>,
    pub(crate) priority: i32,
    /// All blockers, open or closed.
    pub(crate) blocked_by: BTreeSet<u64>,
    pub(crate) assignee: Option<String>,
    pub(crate) closed: bool,
    pub(crate) author: Option<AuthorFacts>,
    /// The key that it was created with.
    pub(crate) key: Option<String>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
}

/// A comment, with the key that keeps it from being added twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IssueComment {
    pub(crate) key: Option<String>,
    pub(crate) author: AuthorFacts,
    pub(crate) body: String,
    pub(crate) at: Timestamp,
}

pub(crate) fn task_id(project: &ProjectId, number: u64) -> TaskId {
    TaskId { project: project.clone(), key: number.to_string() }
}

/// Parses the number in a key, which has only one spelling, so that no issue has two ids.
pub(crate) fn number(key: &str) -> Option<u64> {
    key.parse().ok().filter(|number: &u64| *number > 0 && number.to_string() == key)
}

/// Validates a title and trims it.
pub(crate) fn title(text: &str) -> Result<String, TrackerError> {
    let title = text.trim();
    if title.is_empty() {
        return Err(TrackerError::refused("an issue needs a title"));
    }
    one_line("a title", title, MAX_TITLE)?;
    Ok(title.to_owned())
}

/// Validates a body or a comment: normalizes line ends and removes blank lines around it.
pub(crate) fn body(what: &str, text: &str) -> Result<String, TrackerError> {
    let body = plain_text(text);
    if body.len() > MAX_BODY {
        let size = body.len().div_ceil(1024);
        return Err(TrackerError::refused(format!(
            "{what} may have {} KB, and this has {size} KB; put what is long into a file",
            MAX_BODY / 1024
        )));
    }
    if body.contains('\0') {
        return Err(TrackerError::refused(format!("{what} is text, and this has a NUL in it")));
    }
    Ok(body)
}

/// Normalizes a text as it is compared and stored.
pub(crate) fn plain_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut rest = text.as_str();
    while let Some((line, behind)) = rest.split_once('\n')
        && line.trim().is_empty()
    {
        rest = behind;
    }
    rest.trim_end().to_owned()
}

pub(crate) fn labels<'a>(
    labels: impl IntoIterator<Item = &'a String>,
) -> Result<BTreeSet<String>, TrackerError> {
    labels.into_iter().map(|label| word("a label", label)).collect()
}

/// Checks the counts, which are only known once an edit is applied.
pub(crate) fn few_enough(issue: &Issue) -> Result<(), TrackerError> {
    for (what, count, most) in
        [("labels", issue.labels.len(), MAX_LABELS), ("blockers", issue.blocked_by.len(), MAX_BLOCKERS)]
    {
        if count > most {
            return Err(TrackerError::refused(format!("an issue may have {most} {what}, and not {count}")));
        }
    }
    Ok(())
}

/// Validates a label, a login or a key, and trims it.
pub(crate) fn word(what: &str, text: &str) -> Result<String, TrackerError> {
    let word = text.trim();
    if word.is_empty() {
        return Err(TrackerError::refused(format!("{what} cannot be empty")));
    }
    one_line(what, word, MAX_WORD)?;
    Ok(word.to_owned())
}

fn one_line(what: &str, text: &str, most: usize) -> Result<(), TrackerError> {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if text.contains(breaks) {
        return Err(TrackerError::refused(format!("{what} is one line of text, without control characters")));
    }
    let length = text.chars().count();
    if length > most {
        return Err(TrackerError::refused(format!(
            "{what} may have {most} characters, and this has {length}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling() {
        assert_eq!(number("42"), Some(42));
        for other in ["", "0", "042", "+42", " 42", "#42", "4.2", "99999999999999999999", "٤٢"] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn an_invalid_title_is_rejected_with_a_reason() {
        assert_eq!(title("  Fix `$(rm -rf ~)` \u{1f980}  ").unwrap(), "Fix `$(rm -rf ~)` \u{1f980}");
        assert_eq!(title(&"ä".repeat(MAX_TITLE)).unwrap().chars().count(), MAX_TITLE);
        for (text, why) in [
            ("", "needs a title"),
            (" \t ", "needs a title"),
            ("two\nlines", "one line"),
            ("a\u{2028}b", "one line"),
            ("bell\u{7}", "control characters"),
            (&"x".repeat(MAX_TITLE + 1), "may have 256 characters, and this has 257"),
        ] {
            let err = title(text).unwrap_err().to_string();
            assert!(err.contains(why), "{err}");
        }
    }

    #[test]
    fn a_body_keeps_its_indent_and_loses_the_blank_lines_around_it() {
        assert_eq!(body("a body", "\r\n \n    code\r\n\r\ntext\n\n").unwrap(), "    code\n\ntext");
        assert!(body("a body", &"x".repeat(MAX_BODY + 1)).is_err());
        assert!(body("a body", "a\0b").is_err());
    }
}
