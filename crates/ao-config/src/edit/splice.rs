//! Single changes to a text. Each returns the new text, or `None` if it sees no safe way; `confirm` checks every
//! result.

use super::outline::{NodeShape, OutlineEntry, OutlineNode};
use crate::rule::SchemaRule;
use crate::tree::{ConfigTree, TreeValue};

/// Formats a value for a file: unchanged if it is a list, a mapping or a safe plain scalar, otherwise in quotes.
pub(super) fn scalar(value: &str, rule: &SchemaRule) -> String {
    let value = value.trim();
    let parsed = |text: &str| {
        ConfigTree::read(0, &format!("v: [{text}]\n")).ok().and_then(|tree| sole(tree.follow(["v"])))
    };
    let collection = value.starts_with(['[', '{']) && !value.contains('\n');
    match parsed(value) {
        Some(TreeValue::List(_) | TreeValue::Map(_)) if collection => value.to_owned(),
        Some(TreeValue::Text(text)) if text == value && !value.contains(" #") && is_plain(value) => {
            value.to_owned()
        }
        Some(TreeValue::Bool(_) | TreeValue::Number(_)) if wants_no_text(rule) => value.to_owned(),
        Some(TreeValue::Null) if value == "null" || value == "~" => value.to_owned(),
        _ => serde_json::to_string(value).expect("a text can be quoted"),
    }
}

/// Returns `true` if a text needs no quotes as the value of a key. A lone `?` needs them there, but not in a list.
fn is_plain(text: &str) -> bool {
    ConfigTree::read(0, &format!("v: {text}\n")).is_ok_and(|tree| tree.follow(["v"]).as_text() == Some(text))
}

/// Formats any text as the value of a key.
pub(crate) fn quoted(text: &str) -> String {
    let wanted = scalar(text, &SchemaRule::text());
    let same = ConfigTree::read(0, &format!("v: {wanted}\n"))
        .is_ok_and(|tree| tree.follow(["v"]).as_text() == Some(text));
    if same { wanted } else { serde_json::to_string(text).expect("a text can be quoted") }
}

fn wants_no_text(rule: &SchemaRule) -> bool {
    let types = rule.types();
    types.is_empty() || types.iter().any(|kind| matches!(*kind, "integer" | "number" | "boolean"))
}

fn sole(tree: &ConfigTree) -> Option<TreeValue> {
    match &tree.value {
        TreeValue::List(list) if list.len() == 1 => Some(list[0].value.clone()),
        _ => None,
    }
}

/// Replaces a value.
pub(super) fn replace(text: &str, node: &OutlineNode, wanted: &str) -> Option<String> {
    if node.anchored {
        return None;
    }
    if node.start == node.end {
        // The value is empty. The new one goes after the colon and before a comment.
        let rest = &text[node.start..];
        let colon = rest.find(':').filter(|colon| rest[..*colon].trim().is_empty());
        let at = match colon {
            Some(colon) => node.start + colon + 1,
            None => node.start,
        };
        return Some(format!("{} {wanted}{}", text[..at].trim_end_matches(' '), &text[at..]));
    }
    let mut start = node.start;
    let end = node.start + text[node.start..node.end].trim_end().len();
    // A block collection starts on a line of its own; the new value goes on the line of the key.
    if let NodeShape::Sequence { flow: false, .. } | NodeShape::Mapping { flow: false, .. } = node.shape {
        let before = text[..start].trim_end();
        if !before.ends_with(':') {
            return None;
        }
        start = before.len();
        return Some(format!("{} {wanted}{}", &text[..start], &text[end..]));
    }
    Some(format!("{}{wanted}{}", &text[..start], &text[end..]))
}

/// Inserts an entry into a mapping, with the mappings that lead to it.
pub(super) fn insert(text: &str, holder: &OutlineNode, path: &[String], wanted: &str) -> Option<String> {
    if holder.anchored {
        return None;
    }
    match &holder.shape {
        NodeShape::Mapping { flow: true, entries } => {
            let close = holder.end.checked_sub(1).filter(|close| text[*close..].starts_with('}'))?;
            let inside = text[..close].trim_end();
            let gap = if entries.is_empty() { " " } else { ", " };
            Some(format!("{inside}{gap}{} {}", flow_entry(path, wanted), &text[close..]))
        }
        NodeShape::Mapping { flow: false, entries } => {
            let Some(last) = entries.last() else {
                return Some(insert_lines(text, text.len(), &block_entry(path, wanted, 0)));
            };
            let indent = column(text, last.start);
            let starts_line = text[..last.start].ends_with(' ') || indent == 0;
            if !starts_line {
                return None;
            }
            let at = end_of_entry(text, last);
            Some(insert_lines(text, at, &block_entry(path, wanted, indent)))
        }
        // A key without a value becomes a mapping.
        NodeShape::Scalar if holder.start == holder.end => {
            let line_start = text[..holder.start].rfind('\n').map_or(0, |at| at + 1);
            let indent = text[line_start..].chars().take_while(|c| *c == ' ').count();
            let at = line_end(text, holder.start);
            Some(insert_lines(text, at, &block_entry(path, wanted, indent + 2)))
        }
        _ => None,
    }
}

/// Removes an entry from a mapping.
pub(super) fn remove(text: &str, holder: &OutlineNode, key: &str) -> Option<String> {
    let NodeShape::Mapping { flow, entries } = &holder.shape else { return None };
    let n = entries.iter().position(|entry| entry.key == key)?;
    let entry = &entries[n];
    if entry.value.anchored {
        return None;
    }
    if *flow {
        let (start, end) = match (entries.get(n + 1), n.checked_sub(1).map(|before| &entries[before])) {
            (Some(next), _) => (entry.start, next.start),
            (None, Some(before)) => {
                (before.value.end.max(before.key_end), entry.value.end.max(entry.key_end))
            }
            (None, None) => (entry.start, entry.value.end.max(entry.key_end)),
        };
        return Some(format!("{}{}", &text[..start], &text[end..]));
    }
    let line_start = text[..entry.start].rfind('\n').map_or(0, |at| at + 1);
    if !text[line_start..entry.start].trim().is_empty() {
        return None;
    }
    let end = end_of_entry(text, entry);
    Some(format!("{}{}", &text[..line_start], &text[end..]))
}

/// Returns the position after the last line of an entry.
fn end_of_entry(text: &str, entry: &OutlineEntry) -> usize {
    let end = entry.value.end.max(entry.key_end);
    // A block scalar may include the blank lines that follow it.
    let written = text[..end].trim_end().len().max(entry.key_end);
    line_end(text, written)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn insert_lines(text: &str, at: usize, lines: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = lines.replace('\n', newline);
    let missing = if at > 0 && !text[..at].ends_with('\n') { newline } else { "" };
    format!("{}{missing}{lines}{}", &text[..at], &text[at..])
}

fn block_entry(path: &[String], wanted: &str, indent: usize) -> String {
    let mut lines = String::new();
    for (depth, key) in path.iter().enumerate() {
        let pad = " ".repeat(indent + 2 * depth);
        let value = if depth + 1 == path.len() { format!(" {wanted}") } else { String::new() };
        lines.push_str(&format!("{pad}{}:{value}\n", key_text(key)));
    }
    lines
}

fn flow_entry(path: &[String], wanted: &str) -> String {
    match path.split_first() {
        Some((key, [])) => format!("{}: {wanted}", key_text(key)),
        Some((key, rest)) => format!("{}: {{ {} }}", key_text(key), flow_entry(rest, wanted)),
        None => wanted.to_owned(),
    }
}

/// Quotes a key that could be read as another type.
fn key_text(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '$');
    let starts_well = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$');
    let word = matches!(
        key.to_ascii_lowercase().as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    match key.chars().all(plain) && starts_well && !word {
        true => key.to_owned(),
        false => serde_json::to_string(key).expect("a text can be quoted"),
    }
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |line| line + 1)
}
