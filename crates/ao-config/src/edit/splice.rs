//! The cuts: each returns a new text, or nothing if it sees no clean way. None of them is trusted: see `confirm`.

use super::outline::{Entry, Node, Shape};
use crate::rule::Rule;
use crate::tree::{Tree, Value};

/// A value as it can stand in a file: as it was given if it is a list, a mapping or a word that is safe; else in quotes.
pub(super) fn scalar(value: &str, rule: &Rule) -> String {
    let value = value.trim();
    let parsed =
        |text: &str| Tree::read(0, &format!("v: [{text}]\n")).ok().and_then(|tree| sole(tree.follow(["v"])));
    let collection = value.starts_with(['[', '{']) && !value.contains('\n');
    match parsed(value) {
        Some(Value::List(_) | Value::Map(_)) if collection => value.to_owned(),
        Some(Value::Text(text)) if text == value && !value.contains(" #") && is_plain(value) => {
            value.to_owned()
        }
        Some(Value::Bool(_) | Value::Number(_)) if wants_no_text(rule) => value.to_owned(),
        Some(Value::Null) if value == "null" || value == "~" => value.to_owned(),
        _ => serde_json::to_string(value).expect("a text can be quoted"),
    }
}

/// Whether a text means itself behind a key. A lone `?` does so in a list only.
fn is_plain(text: &str) -> bool {
    Tree::read(0, &format!("v: {text}\n")).is_ok_and(|tree| tree.follow(["v"]).as_text() == Some(text))
}

/// A text as it can stand behind a key, whatever it looks like.
pub(crate) fn quoted(text: &str) -> String {
    let wanted = scalar(text, &Rule::text());
    let same =
        Tree::read(0, &format!("v: {wanted}\n")).is_ok_and(|tree| tree.follow(["v"]).as_text() == Some(text));
    if same { wanted } else { serde_json::to_string(text).expect("a text can be quoted") }
}

fn wants_no_text(rule: &Rule) -> bool {
    let types = rule.types();
    types.is_empty() || types.iter().any(|kind| matches!(*kind, "integer" | "number" | "boolean"))
}

fn sole(tree: &Tree) -> Option<Value> {
    match &tree.value {
        Value::List(list) if list.len() == 1 => Some(list[0].value.clone()),
        _ => None,
    }
}

/// Puts a value in the place of another.
pub(super) fn replace(text: &str, node: &Node, wanted: &str) -> Option<String> {
    if node.anchored {
        return None;
    }
    if node.start == node.end {
        // There is nothing yet. The value goes behind the colon, ahead of a comment.
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
    // A block sequence begins on a line of its own, and what takes its place on the key's.
    if let Shape::Sequence { flow: false, .. } | Shape::Mapping { flow: false, .. } = node.shape {
        let before = text[..start].trim_end();
        if !before.ends_with(':') {
            return None;
        }
        start = before.len();
        return Some(format!("{} {wanted}{}", &text[..start], &text[end..]));
    }
    Some(format!("{}{wanted}{}", &text[..start], &text[end..]))
}

/// Puts a new entry into a mapping, with the mappings that lead to it.
pub(super) fn insert(text: &str, holder: &Node, path: &[String], wanted: &str) -> Option<String> {
    if holder.anchored {
        return None;
    }
    match &holder.shape {
        Shape::Mapping { flow: true, entries } => {
            let close = holder.end.checked_sub(1).filter(|close| text[*close..].starts_with('}'))?;
            let inside = text[..close].trim_end();
            let gap = if entries.is_empty() { " " } else { ", " };
            Some(format!("{inside}{gap}{} {}", flow_entry(path, wanted), &text[close..]))
        }
        Shape::Mapping { flow: false, entries } => {
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
        // A key with nothing behind it becomes a mapping.
        Shape::Scalar if holder.start == holder.end => {
            let line_start = text[..holder.start].rfind('\n').map_or(0, |at| at + 1);
            let indent = text[line_start..].chars().take_while(|c| *c == ' ').count();
            let at = line_end(text, holder.start);
            Some(insert_lines(text, at, &block_entry(path, wanted, indent + 2)))
        }
        _ => None,
    }
}

/// Takes an entry out of a mapping.
pub(super) fn remove(text: &str, holder: &Node, key: &str) -> Option<String> {
    let Shape::Mapping { flow, entries } = &holder.shape else { return None };
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

/// Behind the line end of the last line that belongs to an entry.
fn end_of_entry(text: &str, entry: &Entry) -> usize {
    let end = entry.value.end.max(entry.key_end);
    // The bytes of a block text may reach into the blank lines behind it.
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

/// A key that could be taken for something else is quoted.
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
