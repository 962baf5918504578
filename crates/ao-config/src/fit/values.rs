//! What single values are called and made of.

use camino::{Utf8Path, Utf8PathBuf};

use crate::rule::Rule;
use crate::tree::{Tree, Value};

/// `the configuration` is no name.
pub(super) fn quoted(name: &str) -> String {
    if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
}

pub(super) fn in_words(kind: &str, rule: &Rule) -> &'static str {
    match (kind, rule.word("x-kind")) {
        ("string", Some("time")) => "a length of time",
        ("string", Some("size")) => "a size",
        ("string", Some("path")) => "a path",
        ("string", _) => "a text",
        ("integer", _) => "a whole number",
        ("number", _) => "a number",
        ("boolean", _) => "`true` or `false`",
        ("array", _) => "a list",
        _ => "a mapping",
    }
}

/// What a variable's text is where no text can stand: `${PORT:-3000}` is a number.
pub(super) fn retype(text: &str, types: &[&str]) -> Value {
    let has = |kind| types.contains(&kind);
    match text {
        "true" if has("boolean") => Value::Bool(true),
        "false" if has("boolean") => Value::Bool(false),
        _ if has("integer") || has("number") => match text.parse::<u64>() {
            Ok(number) => Value::Number(number.into()),
            Err(_) => match text.parse().ok().and_then(serde_json::Number::from_f64) {
                Some(number) if has("number") => Value::Number(number),
                _ => Value::Text(text.to_owned()),
            },
        },
        _ => Value::Text(text.to_owned()),
    }
}

/// A number or a truth becomes what stands in the file, to the letter.
pub(super) fn as_text(tree: &mut Tree) {
    let text = match &tree.value {
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => return,
    };
    tree.value = Value::Text(tree.written.take().unwrap_or(text));
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

/// Without `.` and `..`, by the letters alone: a project's folder need not exist yet.
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
