//! One failure that a reader found: what failed, where, and its message.

use std::hash::{DefaultHasher, Hash, Hasher};

use ao_ports::{FailureItem, FailureKind};

use super::{Pattern, text};

const LINES: usize = 30;
const LINE: usize = 400;
/// Limits of a message, in lines and bytes.
const MESSAGE_LINES: usize = 8;
const MESSAGE: usize = 800;

/// The tool that ran a test: entries of one family are merged, and never with those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FailureFamily {
    Rust,
    Pytest,
    Unittest,
    Go,
    Jest,
    Tap,
    Junit,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SourceLocation {
    pub path: String,
    pub line: Option<u32>,
}

impl SourceLocation {
    pub(super) fn new(path: &str, line: &str) -> SourceLocation {
        SourceLocation { path: path.to_string(), line: line.parse().ok() }
    }

    fn of(pattern: &Pattern, line: &str) -> Option<SourceLocation> {
        let [path, line] = pattern.captures(line)?.extract().1;
        Some(SourceLocation::new(path, line))
    }

    /// Returns the location that a line begins with.
    pub(super) fn parse(line: &str) -> Option<SourceLocation> {
        static PLACE: Pattern =
            pattern!(r"^\s*(?:(?:-->|:::|test at) )?((?:[A-Za-z]:)?[^\s:][^:]*?):(\d+)(?::\d+:?|:)(?:\s|$)");
        SourceLocation::of(&PLACE, line)
    }

    /// Returns the first location that a line of a trace or a message names.
    pub(super) fn within(line: &str) -> Option<SourceLocation> {
        static PLACE: Pattern = pattern!(
            r#"(?:^|[\s('"`])((?:file://)?(?:[A-Za-z]:)?[^\s:('"`]+\.[A-Za-z]{1,6}):(\d+)(?::\d+)?(?:[\s):,'"`]|$)"#
        );
        SourceLocation::of(&PLACE, line)
    }

    /// Returns the first location outside of dependencies that a trace or a message names.
    pub(super) fn in_trace(lines: impl IntoIterator<Item = impl AsRef<str>>) -> Option<SourceLocation> {
        let mut lines = lines.into_iter().filter(|line| !text::is_foreign(line.as_ref()));
        lines.find_map(|line| SourceLocation::within(line.as_ref()))
    }

    /// Returns the location of a frame, unless it is in a dependency.
    pub(super) fn own(frame: &str) -> Option<SourceLocation> {
        SourceLocation::within(frame).filter(|place| !text::is_foreign(&place.path))
    }
}

/// One failure in the output.
#[derive(Debug, Clone)]
pub(super) struct FailureEntry {
    pub kind: FailureKind,
    pub family: FailureFamily,
    /// Scope in which the name is unique: a test binary, a package, a file.
    pub scope: String,
    pub name: Option<String>,
    /// Lines to show, the message first.
    pub lines: Vec<String>,
    /// Number of lines that are the message.
    pub head: usize,
    pub place: Option<SourceLocation>,
}

impl FailureEntry {
    pub(super) fn test(family: FailureFamily, name: &str) -> FailureEntry {
        FailureEntry { kind: FailureKind::Test, family, ..FailureEntry::error("") }.name(Some(name))
    }

    pub(super) fn error(message: &str) -> FailureEntry {
        let lines: Vec<String> = (!message.is_empty()).then(|| message.to_string()).into_iter().collect();
        FailureEntry {
            kind: FailureKind::Error,
            family: FailureFamily::Other,
            scope: String::new(),
            name: None,
            head: lines.len(),
            lines,
            place: None,
        }
    }

    pub(super) fn scope(mut self, scope: &str) -> FailureEntry {
        self.scope = scope.to_string();
        self
    }

    pub(super) fn name(mut self, name: Option<&str>) -> FailureEntry {
        self.name = name.map(str::to_string);
        self
    }

    pub(super) fn at(mut self, place: Option<SourceLocation>) -> FailureEntry {
        self.place = place;
        self
    }

    /// Sets the message.
    pub(super) fn message(mut self, lines: Vec<String>) -> FailureEntry {
        self.head = lines.len();
        self.lines = lines;
        self
    }

    /// Adds lines after the message.
    pub(super) fn with(mut self, lines: impl IntoIterator<Item = String>) -> FailureEntry {
        self.lines.extend(lines);
        self
    }

    pub(super) fn message_lines(&self) -> &[String] {
        &self.lines[..self.head.min(self.lines.len())]
    }

    pub(super) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.kind, self.family, &self.scope, &self.name).hash(&mut hasher);
        if self.kind == FailureKind::Error {
            (&self.place, self.message_lines().first()).hash(&mut hasher);
        }
        hasher.finish()
    }

    pub(super) fn tidy(mut self, roots: &[String]) -> FailureEntry {
        let head = self.head.min(LINES);
        // Drop blank lines at both ends, and all but one of several in a row.
        let mut lines: Vec<String> = Vec::new();
        let mut kept_head = 0;
        for (number, line) in self.lines.iter().enumerate() {
            let blank = line.trim().is_empty();
            if lines.len() == LINES || blank && lines.last().is_none_or(|last| last.trim().is_empty()) {
                continue;
            }
            lines.push(text::shorten(&text::without_roots(line, roots), LINE).into_owned());
            if number < head && !blank {
                kept_head = lines.len();
            }
        }
        while lines.last().is_some_and(|last| last.trim().is_empty()) {
            lines.pop();
        }
        self.head = kept_head.min(lines.len());
        self.lines = lines;
        self.name =
            self.name.map(|name| text::shorten(&text::without_roots(&name, roots), LINE).into_owned());
        self.place = self
            .place
            .map(|place| SourceLocation { path: text::inside(&place.path, roots), line: place.line });
        self
    }

    /// Takes from another entry of the same failure what this one lacks.
    pub(super) fn learn(&mut self, other: FailureEntry) {
        if self.lines.is_empty() {
            (self.lines, self.head) = (other.lines, other.head);
            self.place = other.place.or(self.place.take());
        } else {
            self.place = self.place.take().or(other.place);
        }
    }

    pub(super) fn item(&self) -> FailureItem {
        let lines = self.message_lines();
        let lines = &lines[..lines.len().min(MESSAGE_LINES)];
        let message = if lines.is_empty() { "failed".to_string() } else { lines.join("\n") };
        FailureItem {
            kind: self.kind,
            name: self.name.clone(),
            message: text::shorten(&message, MESSAGE).into_owned(),
            path: self.place.as_ref().map(|place| place.path.clone()),
            line: self.place.as_ref().and_then(|place| place.line),
        }
    }
}
