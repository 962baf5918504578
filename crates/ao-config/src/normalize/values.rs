//! Names and conversions of single values.

use camino::{Utf8Path, Utf8PathBuf};

use crate::rule::SchemaRule;
use crate::tree::{ConfigTree, TreeValue};

/// Quotes a key. `the configuration` is not one.
pub(super) fn quoted(name: &str) -> String {
    if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
}

pub(super) fn in_words(kind: &str, rule: &SchemaRule) -> &'static str {
    match (kind, rule.word("x-kind")) {
        ("string", Some("time")) => "a duration",
        ("string", Some("size")) => "a size",
        ("string", Some("path")) => "a path",
        ("string", _) => "a string",
        ("integer", _) => "a whole number",
        ("number", _) => "a number",
        ("boolean", _) => "`true` or `false`",
        ("array", _) => "a list",
        _ => "a mapping",
    }
}

/// Converts the text of a variable to the expected type: `${PORT:-3000}` is a number.
pub(super) fn retype(text: &str, types: &[&str]) -> TreeValue {
    let has = |kind| types.contains(&kind);
    match text {
        "true" if has("boolean") => TreeValue::Bool(true),
        "false" if has("boolean") => TreeValue::Bool(false),
        _ if has("integer") || has("number") => match text.parse::<u64>() {
            Ok(number) => TreeValue::Number(number.into()),
            Err(_) => match text.parse().ok().and_then(serde_json::Number::from_f64) {
                Some(number) if has("number") => TreeValue::Number(number),
                _ => TreeValue::Text(text.to_owned()),
            },
        },
        _ => TreeValue::Text(text.to_owned()),
    }
}

/// Converts a number or a boolean back to the text that was written.
pub(super) fn as_text(tree: &mut ConfigTree) {
    let text = match &tree.value {
        TreeValue::Number(number) => number.to_string(),
        TreeValue::Bool(value) => value.to_string(),
        _ => return,
    };
    tree.value = TreeValue::Text(tree.written.take().unwrap_or(text));
}

pub(super) fn camel_case(key: &str) -> String {
    let mut words = key.split(['_', '-']);
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// Removes `.` and `..` without touching the disk, because the folder of a project need not exist yet.
pub(super) fn normal(path: &Utf8Path) -> Utf8PathBuf {
    use camino::Utf8Component;
    let mut whole = Utf8PathBuf::new();
    for part in path.components() {
        match part {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part.as_str()),
        }
    }
    whole
}
