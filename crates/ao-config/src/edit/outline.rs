//! Byte positions of the parts of a YAML text, without their meaning.

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::EditError;

/// A value and its bytes. A block collection ends with its last part, without the blank lines after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineNode {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) shape: NodeShape,
    /// An alias may refer to it.
    pub(super) anchored: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeShape {
    /// A string, a number or nothing at all.
    Scalar,
    /// A reference to an anchored value.
    Alias,
    /// A list.
    Sequence { flow: bool, items: Vec<OutlineNode> },
    /// A mapping.
    Mapping { flow: bool, entries: Vec<OutlineEntry> },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineEntry {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) key_end: usize,
    pub(super) value: OutlineNode,
}

impl OutlineNode {
    /// Reads the outline of a valid document. An empty document is an empty mapping at its end.
    pub(super) fn read(text: &str) -> Result<OutlineNode, EditError> {
        let options = granit_parser::options! { emit_comments: false };
        let mut events = Vec::new();
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event
                .map_err(|err| EditError::Malformed { line: err.marker().line(), what: err.to_string() })?;
            if event.is_node() || matches!(event, Event::MappingEnd | Event::SequenceEnd) {
                events.push((event, span));
            }
        }
        let mut events = events.into_iter().peekable();
        let empty = OutlineNode {
            start: text.len(),
            end: text.len(),
            shape: NodeShape::Mapping { flow: false, entries: vec![] },
            anchored: false,
        };
        match events.peek() {
            None => Ok(empty),
            Some((Event::Scalar(..), span)) if bytes(span).0 == bytes(span).1 => Ok(empty),
            Some(_) => Ok(node(text, &mut events)),
        }
    }

    pub(super) fn entry(&self, key: &str) -> Option<&OutlineEntry> {
        match &self.shape {
            NodeShape::Mapping { entries, .. } => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }
}

type Events<'a> = std::iter::Peekable<std::vec::IntoIter<(Event<'a>, Span)>>;

/// Reads one node. The depth of recursion is bounded, because the text was parsed with a limit before.
fn node(text: &str, events: &mut Events<'_>) -> OutlineNode {
    let nothing = OutlineNode { start: 0, end: 0, shape: NodeShape::Scalar, anchored: false };
    let Some((event, span)) = events.next() else { return nothing };
    let (start, end) = bytes(&span);
    match event {
        Event::Scalar(_, _, anchor, tag) => {
            OutlineNode { start, end, shape: NodeShape::Scalar, anchored: anchor > 0 || tag.is_some() }
        }
        Event::SequenceStart(style, anchor, _) => {
            let flow = style == StructureStyle::Flow;
            let mut items = Vec::new();
            let mut last = start;
            while !matches!(events.peek(), Some((Event::SequenceEnd, _)) | None) {
                let item = node(text, events);
                last = last.max(item.end);
                items.push(item);
            }
            let close = events.next().map_or(last, |(_, span)| bytes(&span).1);
            let end = if flow { close } else { last };
            OutlineNode { start, end, shape: NodeShape::Sequence { flow, items }, anchored: anchor > 0 }
        }
        Event::MappingStart(style, anchor, _) => {
            let flow = style == StructureStyle::Flow;
            let mut entries = Vec::new();
            let mut last = start;
            while !matches!(events.peek(), Some((Event::MappingEnd, _)) | None) {
                let name = match events.peek() {
                    Some((Event::Scalar(text, ..), _)) => text.to_string(),
                    _ => String::new(),
                };
                let key = node(text, events);
                let block = matches!(
                    events.peek(),
                    Some((Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..), _))
                );
                let mut value = node(text, events);
                if value.start < key.end {
                    (value.start, value.end) = (key.end, key.end);
                }
                // For a block scalar the parser reports the start of its text, but the value starts at its `|` or `>`.
                if block && let Some(mark) = text[key.end..].find(['|', '>']) {
                    value.start = value.start.min(key.end + mark);
                }
                last = last.max(value.end).max(key.end);
                entries.push(OutlineEntry { key: name, start: key.start, key_end: key.end, value });
            }
            let close = events.next().map_or(last, |(_, span)| bytes(&span).1);
            let end = if flow { close } else { last };
            OutlineNode { start, end, shape: NodeShape::Mapping { flow, entries }, anchored: anchor > 0 }
        }
        _ => OutlineNode { start, end, shape: NodeShape::Alias, anchored: false },
    }
}

fn bytes(span: &Span) -> (usize, usize) {
    let start = span.start.byte_offset().unwrap_or_default();
    (start, span.end.byte_offset().unwrap_or(start).max(start))
}
