//! One find of a reader: what failed, where, and what was said of it.

use std::hash::{DefaultHasher, Hash, Hasher};

use ao_ports::{FailureItem, FailureKind};

use super::text;

const LINES: usize = 30;
const LINE: usize = 400;
/// Of a message, so many lines and bytes.
const MESSAGE_LINES: usize = 8;
const MESSAGE: usize = 800;

/// Which reader found it: finds of one family are put together, and those of others are never mixed up with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Family {
    Rust,
    Pytest,
    Unittest,
    Python,
    Go,
    Jest,
    Tap,
    Junit,
    Diagnostic,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub path: String,
    pub line: Option<u32>,
}

impl Place {
    pub(super) fn new(path: &str, line: &str) -> Place {
        Place { path: path.to_string(), line: line.parse().ok() }
    }
}

/// One find.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub kind: FailureKind,
    pub family: Family,
    /// What the name is unique in: a test binary, a package, a file.
    pub scope: String,
    pub name: Option<String>,
    /// What is shown of it, the message first.
    pub lines: Vec<String>,
    /// How many of the lines are the message.
    pub head: usize,
    pub place: Option<Place>,
}

impl Entry {
    pub(super) fn test(family: Family, name: &str) -> Entry {
        Entry {
            kind: FailureKind::Test,
            family,
            scope: String::new(),
            name: Some(name.to_string()),
            lines: Vec::new(),
            head: 0,
            place: None,
        }
    }

    pub(super) fn error(family: Family, message: &str) -> Entry {
        let lines = if message.is_empty() { Vec::new() } else { vec![message.to_string()] };
        Entry {
            kind: FailureKind::Error,
            family,
            scope: String::new(),
            name: None,
            head: lines.len(),
            lines,
            place: None,
        }
    }

    pub(super) fn scope(mut self, scope: &str) -> Entry {
        self.scope = scope.to_string();
        self
    }

    pub(super) fn name(mut self, name: Option<&str>) -> Entry {
        self.name = name.map(str::to_string);
        self
    }

    pub(super) fn at(mut self, place: Option<Place>) -> Entry {
        self.place = place;
        self
    }

    /// All of these lines are its message.
    pub(super) fn says(mut self, lines: Vec<String>) -> Entry {
        self.head = lines.len();
        self.lines = lines;
        self
    }

    /// These are shown after its message.
    pub(super) fn with(mut self, lines: impl IntoIterator<Item = String>) -> Entry {
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

    pub(super) fn tidy(mut self, roots: &[String]) -> Entry {
        let head = self.head.min(LINES);
        // Blank lines at both ends and in rows say nothing.
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
        self.place =
            self.place.map(|place| Place { path: text::inside(&place.path, roots), line: place.line });
        self
    }

    /// Takes from another find of the same what this one lacks.
    pub(super) fn learn(&mut self, other: Entry) {
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
