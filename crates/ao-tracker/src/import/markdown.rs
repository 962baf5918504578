//! Parses task lists in Markdown.
//!
//! `- [ ] title` is an issue and `- [x] title` a closed one. Text indented below it is its body, and a task indented
//! below it is an issue of its own, which has to be done first.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{ImportError, IssueDraft, bounded, few_enough};
use crate::local::{MAX_BODY, MAX_TITLE};

/// Parses every task list of a text.
pub fn read(text: &str) -> Result<Vec<IssueDraft>, ImportError> {
    bounded(text)?;
    let mut reader = ListReader::default();
    for (n, line) in text.lines().enumerate() {
        reader.line(n + 1, line.trim_end())?;
    }
    reader.close_down_to(0)?;
    if reader.drafts.is_empty() {
        return Err(ImportError::Nothing);
    }
    few_enough(&reader.drafts)?;
    Ok(reader.drafts)
}

#[derive(Default)]
struct ListReader {
    drafts: Vec<IssueDraft>,
    /// The headings above, the outermost first, each with its level.
    headings: Vec<(usize, String)>,
    /// The tasks that the next line may belong to, the outermost first.
    open: Vec<OpenItem>,
    /// The mark that ends the current code block.
    fence: Option<String>,
    /// The number of occurrences of each key, to distinguish duplicates.
    keys: BTreeMap<String, usize>,
}

/// A task whose end was not reached yet.
struct OpenItem {
    line: usize,
    /// The columns of its dash and of its text.
    indent: usize,
    inner: usize,
    title: String,
    closed: bool,
    body: Vec<String>,
    /// The drafts of the tasks nested in it.
    children: Vec<usize>,
}

impl ListReader {
    fn line(&mut self, n: usize, line: &str) -> Result<(), ImportError> {
        let (indent, rest) = indent(line);
        if let Some(mark) = &self.fence {
            if rest.starts_with(mark.as_str()) {
                self.fence = None;
            }
            self.keep(line);
            return Ok(());
        }
        if rest.is_empty() {
            self.keep(line);
            return Ok(());
        }
        if let Some((gap, closed, title)) = task(rest) {
            self.close_down_to(indent)?;
            self.begin(n, indent, indent + gap, closed, title)?;
            return Ok(());
        }
        self.close_down_to(indent)?;
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| rest.chars().take_while(|c| *c == mark).count());
        if length >= 3 {
            self.fence = Some(rest[..length].to_owned());
        }
        if let Some((level, title)) = heading(rest).filter(|_| self.open.is_empty()) {
            self.headings.retain(|(above, _)| *above < level);
            self.headings.push((level, title.to_owned()));
        }
        self.keep(line);
        Ok(())
    }

    fn begin(
        &mut self,
        line: usize,
        indent: usize,
        inner: usize,
        closed: bool,
        title: &str,
    ) -> Result<(), ImportError> {
        let length = title.chars().count();
        let wrong = match title {
            "" => Some("this task has no words".to_owned()),
            title if title.contains(char::is_control) => {
                Some("this task has control characters in it".into())
            }
            _ if length > MAX_TITLE => Some(format!(
                "a title may have {MAX_TITLE} characters, and this has {length}; indent the rest below it"
            )),
            _ => None,
        };
        if let Some(what) = wrong {
            return Err(ImportError::Line { line, what });
        }
        self.open.push(OpenItem {
            line,
            indent,
            inner,
            title: title.to_owned(),
            closed,
            body: vec![],
            children: vec![],
        });
        Ok(())
    }

    /// Adds a line to the body of the task above it, if there is one.
    fn keep(&mut self, line: &str) {
        if let Some(item) = self.open.last_mut() {
            item.body.push(dedented(line, item.inner));
        }
    }

    /// Ends the tasks that a line with this indent does not belong to.
    fn close_down_to(&mut self, indent: usize) -> Result<(), ImportError> {
        while let Some(item) = self.open.pop_if(|item| item.indent >= indent) {
            let body = item.body.join("\n");
            let body = crate::local::plain_text(&body);
            if body.len() > MAX_BODY {
                let what = format!("what is below this task is longer than {} KB", MAX_BODY / 1024);
                return Err(ImportError::Line { line: item.line, what });
            }
            let key = self.key(&item.title);
            let draft = self.drafts.len();
            if let Some(parent) = self.open.last_mut() {
                parent.children.push(draft);
            }
            self.drafts.push(IssueDraft {
                key,
                title: item.title,
                body,
                labels: BTreeSet::new(),
                assignee: None,
                closed: item.closed,
                author: None,
                blocked_by: item.children,
            });
        }
        Ok(())
    }

    /// Derives the key from the headings and tasks above it and its own title, not from its position: lists are sorted
    /// and grow.
    fn key(&mut self, title: &str) -> String {
        let mut hash = Sha256::new();
        let above = self.headings.iter().map(|(_, heading)| heading.as_str());
        let above = above.chain(self.open.iter().map(|item| item.title.as_str()));
        for part in above.chain([title]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let print: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let seen = self.keys.entry(print.clone()).or_default();
        *seen += 1;
        match *seen {
            1 => format!("markdown:{print}"),
            n => format!("markdown:{print}:{n}"),
        }
    }
}

/// Returns the column where a line begins, and the text there. A tab advances to the next multiple of four.
fn indent(line: &str) -> (usize, &str) {
    let mut column = 0;
    for (at, c) in line.char_indices() {
        match c {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => return (column, &line[at..]),
        }
    }
    (column, "")
}

/// Removes the part of the indentation that belongs to the list.
fn dedented(line: &str, columns: usize) -> String {
    let (indent, rest) = indent(line);
    format!("{}{rest}", " ".repeat(indent.saturating_sub(columns)))
}

/// Parses a task: the distance of its text from the dash, whether it is done, and its title.
fn task(text: &str) -> Option<(usize, bool, &str)> {
    let bullet = match text.find(|c: char| !c.is_ascii_digit())? {
        0 => text.strip_prefix(['-', '*', '+'])?,
        digits if digits <= 9 => text[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let boxed = bullet.trim_start_matches([' ', '\t']);
    let gap = text.len() - boxed.len();
    if boxed.len() == bullet.len() {
        return None;
    }
    let inside = boxed.strip_prefix('[')?;
    let closed = match inside.chars().next()? {
        ' ' => false,
        'x' | 'X' => true,
        _ => return None,
    };
    let rest = inside[1..].strip_prefix(']')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| (gap, closed, rest.trim()))
}

fn heading(text: &str) -> Option<(usize, &str)> {
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| (level, title.trim()))
}
