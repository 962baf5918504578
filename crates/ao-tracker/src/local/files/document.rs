//! One issue's file: parsed with a line number for every mistake, and edited without touching anything else.

use std::collections::BTreeSet;

use ao_core::{ProjectId, Timestamp};

use super::FileMistake;
use super::comments::{self, author, author_text, time, time_text};
use super::front::{FrontEntry, FrontMatter, FrontValue, newline, quoted};
use crate::local::issue::{self, Issue, IssueComment, MAX_LABELS, plain_text};

const OURS: [&str; 9] =
    ["title", "state", "labels", "priority", "blockedBy", "assignee", "author", "created", "key"];

/// The parsed content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IssueDocument {
    pub(super) issue: Issue,
    pub(super) comments: Vec<IssueComment>,
    /// The line of `blockedBy`, for warnings that are found later.
    pub(super) blocked_by_line: usize,
    front: FrontMatter,
    /// The end of the body, which starts after the front matter.
    body_end: usize,
}

impl IssueDocument {
    /// Parses the text of the file with this number and time of change.
    pub(super) fn read(
        project: &ProjectId,
        number: u64,
        changed: Timestamp,
        text: &str,
    ) -> Result<IssueDocument, FileMistake> {
        let front = FrontMatter::read(text)?;
        let title = match front.entry("title").map(|entry| (entry, &entry.value)) {
            Some((entry, FrontValue::Text(text))) => issue::title(text).map_err(|err| entry.mistake(err))?,
            Some((entry, _)) => return Err(entry.mistake("`title` has to be a line of text")),
            None => {
                return Err(FileMistake { line: 1, what: "there is no `title` in the front matter".into() });
            }
        };
        let closed = match front.text("state")? {
            None => false,
            Some((_, "open")) => false,
            Some((_, "closed")) => true,
            Some((entry, other)) => {
                return Err(entry.mistake(format!("`state` is `{other}`; it can be `open` or `closed`")));
            }
        };
        let priority = match front.text("priority")? {
            None => 0,
            Some((entry, text)) => text.parse().map_err(|_| {
                entry.mistake(format!(
                    "`priority` is `{text}`; it has to be a whole number, and higher is done first"
                ))
            })?,
        };
        let created = match front.text("created")? {
            None => changed,
            Some((entry, text)) => time(text).ok_or_else(|| {
                entry.mistake(format!(
                    "`created` is `{text}`; write a time such as `2026-01-02T03:04:05Z`, or a day"
                ))
            })?,
        };
        let word = |key: &str| -> Result<Option<String>, FileMistake> {
            let Some((entry, text)) = front.text(key)? else { return Ok(None) };
            issue::word(&format!("`{key}`"), text).map(Some).map_err(|err| entry.mistake(err))
        };
        let begin = front.end + comments::begin(&text[front.end..]);
        let body = &text[front.end..begin];
        let issue = Issue {
            number,
            title,
            body: issue::body("a body", &comments::unescaped(&plain_text(body)))
                .map_err(|err| FileMistake { line: line_of(text, front.end), what: err.to_string() })?,
            labels: labels(&front)?,
            priority,
            blocked_by: blocked_by(project, &front)?,
            assignee: word("assignee")?,
            closed,
            author: word("author")?.map(|text| author(&text)),
            key: word("key")?,
            created,
            updated: changed,
        };
        let comments = if begin < text.len() { comments::read(&text[begin..]) } else { vec![] };
        let blocked_by_line = front.entry("blockedBy").map_or(1, |entry| entry.line);
        Ok(IssueDocument { issue, comments, blocked_by_line, front, body_end: begin })
    }

    /// Returns the text with the changes of the issue, and no others. Returns `None` if it cannot be edited cleanly:
    /// people write YAML in more ways than are worth supporting.
    pub(super) fn edited(&self, project: &ProjectId, text: &str, was: &Issue, is: &Issue) -> Option<String> {
        let mut wanted = self.issue.clone();
        let mut changed = text.to_owned();
        if was.body != is.body {
            wanted.body.clone_from(&is.body);
            let behind = &text[self.body_end..];
            let body = body_text(&is.body, !behind.is_empty()).replace('\n', newline(text));
            changed = format!("{}{body}{behind}", &text[..self.front.end]);
        }
        let mut set = |key: &str, value: Option<String>| {
            if let Ok(front) = FrontMatter::read(&changed) {
                changed = front.with(&changed, key, value.as_deref());
            }
        };
        if was.title != is.title {
            wanted.title.clone_from(&is.title);
            set("title", Some(quoted(&is.title)));
        }
        if was.closed != is.closed {
            wanted.closed = is.closed;
            set("state", Some(state(is.closed).to_owned()));
        }
        if was.labels != is.labels {
            // Labels that a person has added in the meantime stay.
            wanted.labels.retain(|label| !was.labels.contains(label) || is.labels.contains(label));
            wanted.labels.extend(is.labels.difference(&was.labels).cloned());
            set("labels", list(wanted.labels.iter().map(|label| quoted(label))));
        }
        if was.priority != is.priority {
            wanted.priority = is.priority;
            set("priority", Some(is.priority.to_string()).filter(|_| is.priority != 0));
        }
        if was.blocked_by != is.blocked_by {
            wanted
                .blocked_by
                .retain(|blocker| !was.blocked_by.contains(blocker) || is.blocked_by.contains(blocker));
            wanted.blocked_by.extend(is.blocked_by.difference(&was.blocked_by));
            set("blockedBy", list(wanted.blocked_by.iter().map(u64::to_string)));
        }
        if was.assignee != is.assignee {
            wanted.assignee.clone_from(&is.assignee);
            set("assignee", is.assignee.as_deref().map(quoted));
        }
        self.confirmed(project, text, &wanted, &self.comments, changed)
    }

    /// Returns the text with a comment appended.
    pub(super) fn commented(
        &self,
        project: &ProjectId,
        text: &str,
        comment: &IssueComment,
    ) -> Option<String> {
        let changed = comments::with(text, self.body_end < text.len(), comment);
        let mut wanted = self.comments.clone();
        wanted.push(comment.clone());
        self.confirmed(project, text, &self.issue, &wanted, changed)
    }

    /// Parses the result, and returns it if it has the expected content and all foreign entries are unchanged.
    fn confirmed(
        &self,
        project: &ProjectId,
        text: &str,
        issue: &Issue,
        comments: &[IssueComment],
        changed: String,
    ) -> Option<String> {
        let read = IssueDocument::read(project, issue.number, issue.updated, &changed).ok()?;
        let same = read.issue == *issue
            && read.comments == comments
            && read.front.others(&changed, &OURS) == self.front.others(text, &OURS);
        same.then_some(changed)
    }
}

/// Returns the text of a new file.
pub(super) fn written(issue: &Issue) -> String {
    let mut entries = vec![("title", quoted(&issue.title)), ("state", state(issue.closed).to_owned())];
    entries.extend(list(issue.labels.iter().map(|label| quoted(label))).map(|labels| ("labels", labels)));
    if issue.priority != 0 {
        entries.push(("priority", issue.priority.to_string()));
    }
    entries.extend(list(issue.blocked_by.iter().map(u64::to_string)).map(|blockers| ("blockedBy", blockers)));
    entries.extend(issue.assignee.as_ref().map(|assignee| ("assignee", quoted(assignee))));
    entries.extend(issue.author.as_ref().map(|author| ("author", quoted(&author_text(author)))));
    entries.push(("created", time_text(issue.created)));
    entries.extend(issue.key.as_ref().map(|key| ("key", quoted(key))));
    let entries: String = entries.into_iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    format!("---\n{entries}---\n{}", body_text(&issue.body, false))
}

fn body_text(body: &str, more_follows: bool) -> String {
    let blank = if more_follows { "\n" } else { "" };
    if body.is_empty() { blank.to_owned() } else { format!("\n{}\n{blank}", comments::escaped(body)) }
}

fn labels(front: &FrontMatter) -> Result<BTreeSet<String>, FileMistake> {
    let mut labels = BTreeSet::new();
    for (text, line) in front.list("labels", "a list of words, such as `[bug, ui]`")? {
        let label =
            issue::word("a label", text).map_err(|err| FileMistake { line, what: err.to_string() })?;
        labels.insert(label);
        if labels.len() > MAX_LABELS {
            return Err(FileMistake { line, what: format!("an issue may have {MAX_LABELS} labels") });
        }
    }
    Ok(labels)
}

/// Accepts `3`, `"#3"` and `"my-app#3"`.
fn blocked_by(project: &ProjectId, front: &FrontMatter) -> Result<BTreeSet<u64>, FileMistake> {
    let blocker = |(text, line): (&str, usize)| {
        let bare = text.strip_prefix(project.as_str()).filter(|rest| rest.starts_with('#')).unwrap_or(text);
        issue::number(bare.strip_prefix('#').unwrap_or(bare)).ok_or_else(|| FileMistake {
            line,
            what: format!("`blockedBy` has `{text}`, which is not the number of an issue"),
        })
    };
    front.list("blockedBy", "a list of numbers, such as `[3, 4]`")?.into_iter().map(blocker).collect()
}

impl FrontMatter {
    fn text(&self, key: &str) -> Result<Option<(&FrontEntry, &str)>, FileMistake> {
        match self.entry(key).map(|entry| (entry, &entry.value)) {
            None | Some((_, FrontValue::Nothing)) => Ok(None),
            Some((entry, FrontValue::Text(text))) => Ok(Some((entry, text.trim()))),
            Some((entry, _)) => Err(entry.mistake(format!("`{key}` has to be one value"))),
        }
    }

    /// Returns the items of a list, of a single value without brackets, or of several separated by commas.
    fn list(&self, key: &str, what: &str) -> Result<Vec<(&str, usize)>, FileMistake> {
        match self.entry(key).map(|entry| (entry, &entry.value)) {
            None | Some((_, FrontValue::Nothing)) => Ok(vec![]),
            Some((entry, FrontValue::Text(text))) => Ok(text
                .split(',')
                .map(|part| (part.trim(), entry.line))
                .filter(|(part, _)| !part.is_empty())
                .collect()),
            Some((_, FrontValue::List(items))) => {
                Ok(items.iter().map(|(item, line)| (item.as_str(), *line)).collect())
            }
            Some((entry, FrontValue::Other)) => Err(entry.mistake(format!("`{key}` has to be {what}"))),
        }
    }
}

impl FrontEntry {
    fn mistake(&self, what: impl ToString) -> FileMistake {
        FileMistake { line: self.line, what: what.to_string() }
    }
}

fn state(closed: bool) -> &'static str {
    if closed { "closed" } else { "open" }
}

fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| format!("[{}]", items.join(", ")))
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
