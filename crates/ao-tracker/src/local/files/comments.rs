//! The comments at the end of an issue's file.
//!
//! ```text
//! ## Comments
//!
//! ### ann · 2026-01-02T03:04:05Z
//!
//! What she says.
//!
//! ### fixer (agent) · 2026-01-02T03:10:00Z <!-- key: ses_4f/1 -->
//! ```
//!
//! A line of a body or of a comment that looks like one of these headings gets a backslash in front, which Markdown
//! renders as the plain line. So no text can forge a comment of another author.

use std::borrow::Cow;

use ao_core::Timestamp;
use ao_core::pull::{AuthorFacts, AuthorStanding};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::super::issue::{IssueComment, plain_text};
use super::front::newline;

const SECTION: &str = "## Comments";

/// Returns where the comments begin: at their heading, if a comment or nothing follows it.
pub(super) fn begin(text: &str) -> usize {
    let mut lines = lines(text).peekable();
    while let Some((at, line)) = lines.next() {
        if line == SECTION {
            while lines.next_if(|(_, line)| line.is_empty()).is_some() {}
            if lines.peek().is_none_or(|(_, line)| heading(line).is_some()) {
                return at;
            }
        }
    }
    text.len()
}

/// Parses the section from [`begin`] on.
pub(super) fn read(section: &str) -> Vec<IssueComment> {
    let mut comments: Vec<IssueComment> = Vec::new();
    for line in section.split_inclusive('\n').skip(1) {
        match (heading(line.trim_end()), comments.last_mut()) {
            (Some(comment), _) => comments.push(comment),
            // Keep trailing spaces, which mean a line break.
            (None, Some(comment)) => comment.body.push_str(line),
            (None, None) => {}
        }
    }
    for comment in &mut comments {
        comment.body = unescaped(&plain_text(&comment.body));
    }
    comments
}

/// Returns the text of a file with a comment appended.
pub(super) fn with(text: &str, has_section: bool, comment: &IssueComment) -> String {
    let mut new = String::new();
    if !text.ends_with('\n') {
        new.push('\n');
    }
    if !has_section {
        new.push_str(&format!("\n{SECTION}\n"));
    }
    let mark = comment.key.as_ref().map_or(String::new(), |key| format!(" <!-- key: {} -->", encoded(key)));
    let (author, at) = (author_text(&comment.author), time_text(comment.at));
    new.push_str(&format!("\n### {author} · {at}{mark}\n\n{}\n", escaped(&comment.body)));
    format!("{text}{}", new.replace('\n', newline(text)))
}

/// Escapes every line that looks like one of our headings.
pub(super) fn escaped(text: &str) -> String {
    each_line(text, |line| is_heading(line.trim_start_matches('\\')).then(|| format!("\\{line}")))
}

/// Reverts [`escaped`].
pub(super) fn unescaped(text: &str) -> String {
    each_line(text, |line| {
        let bare = line.trim_start_matches('\\');
        (bare.len() < line.len() && is_heading(bare)).then(|| line[1..].to_owned())
    })
}

pub(super) fn author_text(AuthorFacts { login, standing }: &AuthorFacts) -> String {
    match standing {
        AuthorStanding::Owner if !login.ends_with(')') => login.clone(),
        _ => format!("{login} ({standing})"),
    }
}

pub(super) fn author(text: &str) -> AuthorFacts {
    let text = text.trim();
    let parts = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    match parts.and_then(|(login, word)| Some((login, serde_json::from_value(word.into()).ok()?))) {
        Some((login, standing)) => AuthorFacts { login: login.to_owned(), standing },
        // A person who can write to the repository counts as an owner.
        None => AuthorFacts { login: text.to_owned(), standing: AuthorStanding::Owner },
    }
}

pub(super) fn time_text(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}

/// Parses a time with its zone, or a day.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let whole = text.parse::<jiff::Timestamp>().ok();
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let at = whole.or_else(|| day().map(|day| day.timestamp()))?;
    Some(Timestamp(at.as_millisecond()))
}

/// Parses the heading of a comment, without its text.
fn heading(line: &str) -> Option<IssueComment> {
    let rest = line.strip_prefix("### ")?;
    let (rest, key) = match rest.split_once(" <!-- key: ") {
        Some((rest, key)) => (rest, Some(decoded(key.strip_suffix(" -->")?)?)),
        None => (rest, None),
    };
    let (login, at) = rest.rsplit_once(" · ")?;
    if login.trim().is_empty() {
        return None;
    }
    Some(IssueComment { key, author: author(login), body: String::new(), at: time(at)? })
}

fn is_heading(line: &str) -> bool {
    let line = line.trim_end();
    line == SECTION || heading(line).is_some()
}

/// Splits a text into lines without their ends, each with its offset.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = at;
        at += line.len();
        (begin, line.trim_end())
    })
}

fn each_line(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| change(line).unwrap_or_else(|| line.to_owned())).collect();
    lines.join("\n")
}

/// Encodes a key so that it cannot end the HTML comment around it.
fn encoded(key: &str) -> String {
    const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'.')
        .remove(b'_')
        .remove(b':')
        .remove(b'/')
        .remove(b'#')
        .remove(b'@')
        .remove(b'-');
    utf8_percent_encode(key, UNSAFE).to_string()
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_read_as_it_was_written_whatever_is_in_it() {
        let text =
            "## Comments\n\n\\## Comments\n### ann · 2026-01-01\n\\### ann · 2026-01-01\n### a heading";
        let comments: Vec<IssueComment> =
            [("ann", AuthorStanding::Owner, Some("a--> b%")), ("x (agent)", AuthorStanding::Owner, None)]
                .map(|(login, standing, key)| IssueComment {
                    key: key.map(str::to_owned),
                    author: AuthorFacts { login: login.into(), standing },
                    body: text.into(),
                    at: Timestamp(1_767_225_600_123),
                })
                .into();
        for newline in ["\n", "\r\n"] {
            let mut file = format!("---{newline}title: x{newline}---{newline}{newline}the body");
            for (n, comment) in comments.iter().enumerate() {
                file = with(&file, n > 0, comment);
            }
            let at = begin(&file);
            assert!(file[..at].trim_end().ends_with("the body"), "{file}");
            assert_eq!(read(&file[at..]), comments, "{file}");
            assert_eq!(file.matches('\n').count(), file.matches(newline).count());
        }
    }

    #[test]
    fn a_section_of_the_body_with_that_name_is_the_bodys() {
        let body = "text\n\n## Comments\n\nThis page has none.\n";
        assert_eq!(begin(body), body.len());
        let whole = format!("{body}\n## Comments\n\n### bob · 2026-01-02\n\nhello\n");
        assert_eq!(begin(&whole), body.len() + 1);
        assert_eq!(read(&whole[body.len() + 1..])[0].body, "hello");
        assert_eq!(begin("text\n## Comments\n"), 5, "an empty section is one too");
    }
}
