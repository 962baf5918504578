//! Front matter: locates and parses its entries, and edits one of them without touching the others.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::FileMistake;

/// The entries of a front matter, with their positions in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrontMatter {
    /// The range between the two lines of dashes.
    pub(super) range: Range<usize>,
    /// The end of the second one.
    pub(super) end: usize,
    pub(super) entries: Vec<FrontEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrontEntry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: FrontValue,
    start: usize,
    key_end: usize,
    value_start: usize,
    value_end: usize,
    /// True if it spans lines, so that it cannot be replaced within one.
    block: bool,
    /// True if it has an anchor, which other entries may refer to.
    anchored: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FrontValue {
    Nothing,
    Text(String),
    /// The items, each with its line.
    List(Vec<(String, usize)>),
    /// A nested value, or a reference.
    Other,
}

impl FrontMatter {
    /// Parses the front matter at the beginning of a text.
    pub(super) fn read(text: &str) -> Result<FrontMatter, FileMistake> {
        let (range, end) = fence(text)?;
        let entries = entries(&text[range.clone()], range.start)?;
        for (n, entry) in entries.iter().enumerate() {
            if let Some(first) = entries[..n].iter().find(|other| other.key == entry.key) {
                let what = format!("`{}` appears twice; it is already in line {}", entry.key, first.line);
                return Err(FileMistake { line: entry.line, what });
            }
        }
        Ok(FrontMatter { range, end, entries })
    }

    pub(super) fn entry(&self, key: &str) -> Option<&FrontEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the text with one entry changed or removed. The caller has to parse the result: not all YAML that people
    /// write can be edited this way.
    pub(super) fn with(&self, text: &str, key: &str, value: Option<&str>) -> String {
        let newline = newline(text);
        let (range, new) = match (self.entry(key), value) {
            (None, None) => return text.to_owned(),
            (None, Some(value)) => (self.range.end..self.range.end, format!("{key}: {value}{newline}")),
            (Some(entry), None) => (entry.start..entry.end_of_lines(text), String::new()),
            // Editing it would remove what others refer to.
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

    /// Returns the raw text of the entries that are not ours.
    pub(super) fn others<'a>(&self, text: &'a str, ours: &[&str]) -> Vec<&'a str> {
        let others = self.entries.iter().filter(|entry| !ours.contains(&entry.key.as_str()));
        others.map(|entry| &text[entry.start..entry.end_of_lines(text)]).collect()
    }
}

impl FrontEntry {
    /// Returns the end of the last line that belongs to it.
    fn end_of_lines(&self, text: &str) -> usize {
        let end = self.value_end.max(self.key_end);
        let written = text[..end].trim_end().len().max(self.key_end);
        text[written..].find('\n').map_or(text.len(), |at| written + at + 1)
    }
}

/// Returns the line ending that this text uses.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Quotes a text so that it is valid as a value or in a list in brackets.
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

/// Returns the range between the lines of dashes, and the end of the second one.
fn fence(text: &str) -> Result<(Range<usize>, usize), FileMistake> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = text[mark..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        let what =
            "there is no front matter; begin the file with a line `---`, a line `title: …` and a line `---`";
        return Err(FileMistake { line: 1, what: what.into() });
    }
    let start = mark + first.len();
    let mut at = start;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Ok((start..at, at + line.len()));
        }
        at += line.len();
    }
    Err(FileMistake { line: 1, what: "the front matter has no end; put a line `---` behind it".into() })
}

/// Parses the entries of the outermost mapping. `base` is the offset of this YAML in its file, behind one line.
fn entries(yaml: &str, base: usize) -> Result<Vec<FrontEntry>, FileMistake> {
    let options = granit_parser::options! { emit_comments: false };
    let mut nodes = Vec::new();
    for event in Parser::new_from_str_with_options(yaml, options) {
        let (event, span) = event.map_err(|err| {
            let what = err.to_string();
            let what = what.split(" at char ").next().and_then(|what| what.split(" at line ").next());
            FileMistake {
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
            return Err(FileMistake { line: span.start.line() + 1, what });
        }
    }
    let mut entries = Vec::new();
    loop {
        let (key, span) = match nodes.next() {
            Some((Event::Scalar(key, ..), span)) => (key.to_string(), span),
            Some((Event::MappingEnd, _)) | None => return Ok(entries),
            Some((_, span)) => {
                return Err(FileMistake {
                    line: span.start.line() + 1,
                    what: "a key has to be a string".into(),
                });
            }
        };
        let (start, key_end) = bytes(&span);
        let node = node(yaml, &mut nodes, key_end);
        entries.push(FrontEntry {
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

type YamlNodes<'a> = std::iter::Peekable<std::vec::IntoIter<(Event<'a>, Span)>>;

struct YamlNode {
    value: FrontValue,
    start: usize,
    end: usize,
    block: bool,
    anchored: bool,
}

/// Returns the value of a key. Skips nested values in a loop, so that depth costs no stack.
fn node(yaml: &str, nodes: &mut YamlNodes<'_>, key_end: usize) -> YamlNode {
    let nothing =
        YamlNode { value: FrontValue::Nothing, start: key_end, end: key_end, block: false, anchored: false };
    let Some((event, span)) = nodes.next() else { return nothing };
    let (start, end) = bytes(&span);
    let (flow, anchored, list) = match event {
        Event::Scalar(text, style, anchor, tag) => {
            let anchored = anchor > 0 || tag.is_some();
            let plain = style == ScalarStyle::Plain;
            let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
                || yaml[start..end].contains('\n');
            if plain && text.is_empty() {
                return YamlNode { anchored, ..nothing };
            }
            let value = match text.as_ref() {
                "null" | "~" | "Null" | "NULL" if plain => FrontValue::Nothing,
                text => FrontValue::Text(text.to_owned()),
            };
            return YamlNode { value, start, end, block, anchored };
        }
        Event::SequenceStart(style, anchor, tag) => {
            (style == StructureStyle::Flow, anchor > 0 || tag.is_some(), true)
        }
        Event::MappingStart(style, anchor, tag) => {
            (style == StructureStyle::Flow, anchor > 0 || tag.is_some(), false)
        }
        _ => return YamlNode { value: FrontValue::Other, start, end, block: false, anchored: true },
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
        // The parser reports the end of a block where the next item begins.
        if flow || depth > 0 && item_end > item_start {
            last = last.max(item_end);
        }
        if depth == 0 {
            break;
        }
    }
    let value = if plain { FrontValue::List(items) } else { FrontValue::Other };
    let block = !flow || yaml[start..last].contains('\n');
    YamlNode { value, start, end: last, block, anchored }
}

fn bytes(span: &Span) -> (usize, usize) {
    let start = span.start.byte_offset().unwrap_or_default();
    (start, span.end.byte_offset().unwrap_or(start).max(start))
}
