//! Front matter: where its entries stand, what they say, and one of them changed with all others left as they are.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::Mistake;

/// The entries of a front matter, in the text that it is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Front {
    /// Between the two lines of dashes.
    pub(super) range: Range<usize>,
    /// Behind the second one.
    pub(super) end: usize,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Value,
    start: usize,
    key_end: usize,
    value_start: usize,
    value_end: usize,
    /// On lines of its own, so that it cannot be replaced within one.
    block: bool,
    /// Somebody may refer to it.
    anchored: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Nothing,
    Text(String),
    /// Each with its line.
    List(Vec<(String, usize)>),
    /// Something deeper, or a reference.
    Other,
}

impl Front {
    /// Reads the front matter at the beginning of a text.
    pub(super) fn read(text: &str) -> Result<Front, Mistake> {
        let (range, end) = fence(text)?;
        let entries = entries(&text[range.clone()], range.start)?;
        for (n, entry) in entries.iter().enumerate() {
            if let Some(first) = entries[..n].iter().find(|other| other.key == entry.key) {
                let what = format!("`{}` is given twice; it is already in line {}", entry.key, first.line);
                return Err(Mistake { line: entry.line, what });
            }
        }
        Ok(Front { range, end, entries })
    }

    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The text with one entry changed, or taken away. What comes of it has to be read again: not every YAML that people
    /// write can be changed this way.
    pub(super) fn with(&self, text: &str, key: &str, value: Option<&str>) -> String {
        let newline = newline(text);
        let (range, new) = match (self.entry(key), value) {
            (None, None) => return text.to_owned(),
            (None, Some(value)) => (self.range.end..self.range.end, format!("{key}: {value}{newline}")),
            (Some(entry), None) => (entry.start..entry.end_of_lines(text), String::new()),
            // It would take away what others refer to.
            (Some(entry), _) if entry.anchored => return text.to_owned(),
            (Some(entry), Some(value)) if entry.block || entry.value_start == entry.value_end => {
                let colon =
                    text[entry.key_end..].find(':').map_or(entry.key_end, |at| entry.key_end + at + 1);
                let end = if entry.block { text[..entry.value_end].trim_end().len() } else { colon };
                (colon..end.max(colon), format!(" {value}"))
            }
            (Some(entry), Some(value)) => (entry.value_start..entry.value_end, value.to_owned()),
        };
        format!("{}{new}{}", &text[..range.start], &text[range.end..])
    }

    /// What is written in the entries that are not ours, to the letter.
    pub(super) fn others<'a>(&self, text: &'a str, ours: &[&str]) -> Vec<&'a str> {
        let others = self.entries.iter().filter(|entry| !ours.contains(&entry.key.as_str()));
        others.map(|entry| &text[entry.start..entry.end_of_lines(text)]).collect()
    }
}

impl Entry {
    /// Behind the line end of the last line that belongs to it.
    fn end_of_lines(&self, text: &str) -> usize {
        let end = self.value_end.max(self.key_end);
        let written = text[..end].trim_end().len().max(self.key_end);
        text[written..].find('\n').map_or(text.len(), |at| written + at + 1)
    }
}

/// How this text ends its lines.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// A text as it can stand behind a key or in a list in brackets, whatever it looks like.
pub(super) fn quoted(text: &str) -> String {
    let plain_letter =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | '(' | ')' | '+');
    let word = text.to_ascii_lowercase();
    let taken = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&word.as_str());
    if !taken
        && text.starts_with(char::is_alphabetic)
        && !text.ends_with(' ')
        && text.chars().all(plain_letter)
    {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The range between the lines of dashes, and where the text goes on.
fn fence(text: &str) -> Result<(Range<usize>, usize), Mistake> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = text[mark..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        let what =
            "there is no front matter; begin the file with a line `---`, a line `title: …` and a line `---`";
        return Err(Mistake { line: 1, what: what.into() });
    }
    let start = mark + first.len();
    let mut at = start;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Ok((start..at, at + line.len()));
        }
        at += line.len();
    }
    Err(Mistake { line: 1, what: "the front matter has no end; put a line `---` behind it".into() })
}

/// The entries of the outermost mapping. `base` is where this YAML stands in its file, behind one line.
fn entries(yaml: &str, base: usize) -> Result<Vec<Entry>, Mistake> {
    let options = granit_parser::options! { emit_comments: false };
    let mut nodes = Vec::new();
    for event in Parser::new_from_str_with_options(yaml, options) {
        let (event, span) = event.map_err(|err| {
            let what = err.to_string();
            let what = what.split(" at char ").next().and_then(|what| what.split(" at line ").next());
            Mistake {
                line: err.marker().line() + 1,
                what: format!("this is not YAML: {}", what.unwrap_or_default()),
            }
        })?;
        if event.is_node() || matches!(event, Event::MappingEnd | Event::SequenceEnd) {
            nodes.push((event, span));
        }
    }
    let mut nodes = nodes.into_iter().peekable();
    match nodes.next() {
        None => return Ok(vec![]),
        Some((Event::MappingStart(..), _)) => {}
        Some((Event::Scalar(text, ..), _)) if text.is_empty() => return Ok(vec![]),
        Some((_, span)) => {
            let what = "the front matter is not a list of `key: value` lines".into();
            return Err(Mistake { line: span.start.line() + 1, what });
        }
    }
    let mut entries = Vec::new();
    loop {
        let (key, span) = match nodes.next() {
            Some((Event::Scalar(key, ..), span)) => (key.to_string(), span),
            Some((Event::MappingEnd, _)) | None => return Ok(entries),
            Some((_, span)) => {
                return Err(Mistake {
                    line: span.start.line() + 1,
                    what: "a key has to be a plain text".into(),
                });
            }
        };
        let (start, key_end) = bytes(&span);
        let node = node(yaml, &mut nodes, key_end);
        entries.push(Entry {
            key,
            line: span.start.line() + 1,
            value: node.value,
            start: base + start,
            key_end: base + key_end,
            value_start: base + node.start,
            value_end: base + node.end,
            block: node.block,
            anchored: node.anchored,
        });
    }
}

type Nodes<'a> = std::iter::Peekable<std::vec::IntoIter<(Event<'a>, Span)>>;

struct Node {
    value: Value,
    start: usize,
    end: usize,
    block: bool,
    anchored: bool,
}

/// The value behind a key. Goes over what is deeper without keeping it, in a loop, so that depth costs nothing.
fn node(yaml: &str, nodes: &mut Nodes<'_>, key_end: usize) -> Node {
    let nothing = Node { value: Value::Nothing, start: key_end, end: key_end, block: false, anchored: false };
    let Some((event, span)) = nodes.next() else { return nothing };
    let (start, end) = bytes(&span);
    let (flow, anchored, list) = match event {
        Event::Scalar(text, style, anchor, tag) => {
            let anchored = anchor > 0 || tag.is_some();
            let plain = style == ScalarStyle::Plain;
            let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
                || yaml[start..end].contains('\n');
            if plain && text.is_empty() {
                return Node { anchored, ..nothing };
            }
            let value = match text.as_ref() {
                "null" | "~" | "Null" | "NULL" if plain => Value::Nothing,
                text => Value::Text(text.to_owned()),
            };
            return Node { value, start, end, block, anchored };
        }
        Event::SequenceStart(style, anchor, tag) => {
            (style == StructureStyle::Flow, anchor > 0 || tag.is_some(), true)
        }
        Event::MappingStart(style, anchor, tag) => {
            (style == StructureStyle::Flow, anchor > 0 || tag.is_some(), false)
        }
        _ => return Node { value: Value::Other, start, end, block: false, anchored: true },
    };
    let (mut depth, mut last, mut plain, mut items) = (1, end, list, Vec::new());
    for (event, span) in nodes.by_ref() {
        let (item_start, item_end) = bytes(&span);
        match event {
            Event::SequenceEnd | Event::MappingEnd => depth -= 1,
            Event::Scalar(text, _, 0, None) if depth == 1 && list => {
                items.push((text.to_string(), span.start.line() + 1));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                depth += 1;
                plain = false;
            }
            _ => plain = false,
        }
        // The end of a block is told where the next thing begins.
        if flow || depth > 0 && item_end > item_start {
            last = last.max(item_end);
        }
        if depth == 0 {
            break;
        }
    }
    let value = if plain { Value::List(items) } else { Value::Other };
    let block = !flow || yaml[start..last].contains('\n');
    Node { value, start, end: last, block, anchored }
}

fn bytes(span: &Span) -> (usize, usize) {
    let start = span.start.byte_offset().unwrap_or_default();
    (start, span.end.byte_offset().unwrap_or(start).max(start))
}
