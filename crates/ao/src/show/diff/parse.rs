//! Parses the output of `git diff` strictly: unknown input is an error, and never shown as something else.
//!
//! Existing crates drop modes, renames or binary markers, or strip `\r`, and changes of those must be visible.
//! Combined diffs (`diff --cc`) are not supported; pull requests have none.

use std::borrow::Cow;

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff<'a> {
    /// The path before; also set for a new file.
    pub old: Cow<'a, str>,
    /// The path after; also set for a deleted file.
    pub new: Cow<'a, str>,
    pub change: FileChange,
    /// As git writes them: `100644`.
    pub old_mode: Option<&'a str>,
    pub new_mode: Option<&'a str>,
    pub binary: bool,
    pub hunks: Vec<DiffHunk<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    Modified,
    Added,
    Deleted,
    Renamed,
    Copied,
}

/// Changed lines of a file, with context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk<'a> {
    pub old: (u32, u32),
    pub new: (u32, u32),
    /// The enclosing function or heading, as far as git knows.
    pub section: &'a str,
    pub lines: Vec<DiffLine<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine<'a> {
    pub kind: LineKind,
    /// The line numbers before and after, if it exists there.
    pub old: Option<u32>,
    pub new: Option<u32>,
    /// With its `\r`, if it has one.
    pub text: &'a str,
    /// The last line, without a line end.
    pub no_newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the diff is not what git writes: {what}")]
pub struct DiffError {
    pub line: usize,
    pub what: &'static str,
}

impl FileDiff<'_> {
    /// Counts the added and removed lines.
    pub fn counts(&self) -> (u64, u64) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let count = |kind| lines().filter(|line| line.kind == kind).count() as u64;
        (count(LineKind::Added), count(LineKind::Removed))
    }

    /// Returns the path that people know it by.
    pub fn path(&self) -> &str {
        if self.change == FileChange::Deleted { &self.old } else { &self.new }
    }
}

/// Parses a diff. A truncated one (`cut`) may end in the middle of a hunk or a header.
pub fn parse(text: &str, cut: bool) -> Result<Vec<FileDiff<'_>>, DiffError> {
    let mut lines =
        LineReader { rest: text.strip_suffix('\n').unwrap_or(text), number: 0, empty: text.is_empty() };
    let mut files = Vec::new();
    while let Some(line) = lines.next() {
        let names = line.strip_prefix("diff --git ").ok_or(lines.wrong("expected the start of a file"))?;
        files.push(file(names, &mut lines, cut)?);
    }
    Ok(files)
}

struct LineReader<'a> {
    rest: &'a str,
    number: usize,
    empty: bool,
}

impl<'a> LineReader<'a> {
    /// Not `str::lines`: that would take the `\r` off.
    fn peek(&self) -> Option<&'a str> {
        (!self.empty).then(|| self.rest.split_once('\n').map_or(self.rest, |(line, _)| line))
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        match self.rest.split_once('\n') {
            Some((_, rest)) => self.rest = rest,
            None => self.empty = true,
        }
        self.number += 1;
        Some(line)
    }

    fn wrong(&self, what: &'static str) -> DiffError {
        DiffError { line: self.number, what }
    }
}

fn file<'a>(names: &'a str, lines: &mut LineReader<'a>, cut: bool) -> Result<FileDiff<'a>, DiffError> {
    let mut file = FileDiff {
        old: "".into(),
        new: "".into(),
        change: FileChange::Modified,
        old_mode: None,
        new_mode: None,
        binary: false,
        hunks: vec![],
    };
    let (mut old, mut new) = (None, None);
    while let Some(line) = lines.peek() {
        if line.starts_with("diff --git ") {
            break;
        }
        if line.starts_with("@@ ") {
            lines.next();
            let hunk = hunk(line, lines, cut)?;
            file.hunks.push(hunk);
            continue;
        }
        lines.next();
        let path = |quoted: &'a str| unquoted(quoted).ok_or(lines.wrong("expected a path"));
        if let Some(mode) = line.strip_prefix("old mode ") {
            file.old_mode = Some(mode);
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            file.new_mode = Some(mode);
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            (file.change, file.new_mode) = (FileChange::Added, Some(mode));
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            (file.change, file.old_mode) = (FileChange::Deleted, Some(mode));
        } else if let Some(from) = line.strip_prefix("rename from ") {
            (file.change, old) = (FileChange::Renamed, Some(path(from)?));
        } else if let Some(from) = line.strip_prefix("copy from ") {
            (file.change, old) = (FileChange::Copied, Some(path(from)?));
        } else if let Some(to) = line.strip_prefix("rename to ").or(line.strip_prefix("copy to ")) {
            new = Some(path(to)?);
        } else if let Some(from) = line.strip_prefix("--- ") {
            old = old.or(side(path(from)?, "a/"));
        } else if let Some(to) = line.strip_prefix("+++ ") {
            new = new.or(side(path(to)?, "b/"));
        } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
            file.binary = true;
            if line == "GIT binary patch" {
                while lines.peek().is_some_and(|line| !line.starts_with("diff --git ")) {
                    lines.next();
                }
            }
        } else if !says_nothing(line) && (!cut || lines.peek().is_some()) {
            return Err(lines.wrong("it is outside of a file"));
        }
    }
    (file.old, file.new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (Some(path), None) | (None, Some(path)) => (path.clone(), path),
        (None, None) => both(names).ok_or(lines.wrong("the file that ends here has no name"))?,
    };
    Ok(file)
}

/// Returns true for a header line without useful information.
fn says_nothing(line: &str) -> bool {
    ["index ", "similarity index ", "dissimilarity index "].iter().any(|known| line.starts_with(known))
}

/// Removes the prefix of a side from a path; nothing for a file that does not exist.
fn side<'a>(path: Cow<'a, str>, letter: &str) -> Option<Cow<'a, str>> {
    if path == "/dev/null" {
        return None;
    }
    if !path.starts_with(letter) {
        return Some(path);
    }
    Some(match path {
        Cow::Borrowed(path) => path[letter.len()..].into(),
        Cow::Owned(path) => path[letter.len()..].to_owned().into(),
    })
}

/// Splits `a/x b/x`, for files without another line that names them. Both sides have the same name.
fn both(names: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    if names.starts_with('"') {
        let end = closing_quote(names)?;
        let (old, new) = names.split_at(end + 1);
        let new = unquoted(new.strip_prefix(' ')?)?;
        return Some((side(unquoted(old)?, "a/")?, side(new, "b/")?));
    }
    // The name may contain spaces, so only the middle is a valid split.
    let middle = names.len() / 2;
    let (old, new) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
    let (old, new) = (side(old.into(), "a/")?, side(new.into(), "b/")?);
    (old == new).then_some((old, new))
}

fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Unquotes a path: quoted as in C if it has special characters, with a tab after it if it has a space.
fn unquoted(path: &str) -> Option<Cow<'_, str>> {
    if !path.starts_with('"') {
        return Some(path.strip_suffix('\t').unwrap_or(path).into());
    }
    let end = closing_quote(path)?;
    let inside = path.get(1..end)?.as_bytes();
    let mut bytes = Vec::with_capacity(inside.len());
    let mut at = 0;
    while at < inside.len() {
        if inside[at] != b'\\' {
            bytes.push(inside[at]);
            at += 1;
            continue;
        }
        let (byte, length) = match *inside.get(at + 1)? {
            b'a' => (7, 2),
            b'b' => (8, 2),
            b't' => (b'\t', 2),
            b'n' => (b'\n', 2),
            b'v' => (11, 2),
            b'f' => (12, 2),
            b'r' => (b'\r', 2),
            c @ (b'"' | b'\\') => (c, 2),
            _ => {
                let digits = std::str::from_utf8(inside.get(at + 1..at + 4)?).ok()?;
                (u8::from_str_radix(digits, 8).ok()?, 4)
            }
        };
        bytes.push(byte);
        at += length;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned().into())
}

fn hunk<'a>(head: &'a str, lines: &mut LineReader<'a>, cut: bool) -> Result<DiffHunk<'a>, DiffError> {
    let (old, new, section) = hunk_head(head).ok_or(lines.wrong("it is not a hunk header"))?;
    let mut hunk = DiffHunk { old, new, section, lines: vec![] };
    let (mut old_left, mut new_left) = (old.1, new.1);
    let (mut old_number, mut new_number) = (old.0, new.0);
    loop {
        if let Some(note) = lines.peek().filter(|line| line.starts_with('\\')) {
            lines.next();
            let last = hunk.lines.last_mut().ok_or(lines.wrong("there is no line before it"))?;
            // `\ No newline at end of file`, in any language.
            last.no_newline = note.starts_with("\\ ");
            continue;
        }
        if old_left == 0 && new_left == 0 {
            return Ok(hunk);
        }
        let Some(line) = lines.next() else {
            return if cut { Ok(hunk) } else { Err(lines.wrong("lines are missing from the hunk")) };
        };
        let kind = match line.as_bytes().first() {
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            Some(b' ') => LineKind::Context,
            // Some mailers strip a lone space.
            None => LineKind::Context,
            Some(_) => return Err(lines.wrong("it is not a line of a hunk")),
        };
        let (in_old, in_new) = (kind != LineKind::Added, kind != LineKind::Removed);
        if (in_old && old_left == 0) || (in_new && new_left == 0) {
            return Err(lines.wrong("the hunk has more lines than its header"));
        }
        hunk.lines.push(DiffLine {
            kind,
            old: in_old.then_some(old_number),
            new: in_new.then_some(new_number),
            text: line.get(1..).unwrap_or(""),
            no_newline: false,
        });
        if in_old {
            old_left -= 1;
            old_number = old_number.saturating_add(1);
        }
        if in_new {
            new_left -= 1;
            new_number = new_number.saturating_add(1);
        }
    }
}

type HunkRange = (u32, u32);

/// Parses `@@ -1,3 +1,4 @@ fn main() {`.
fn hunk_head(head: &str) -> Option<(HunkRange, HunkRange, &str)> {
    let (ranges, section) = head.strip_prefix("@@ ")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((range(old.strip_prefix('-')?)?, range(new.strip_prefix('+')?)?, section.trim_start()))
}

#[cfg(test)]
mod tests;
