//! Edits a configuration file with the smallest change, so that comments and order stay.
//!
//! The text is changed at the positions that the parser reports. The result is read again and compared with the
//! expected content, and an edit that would change anything else is refused. Names can depend on other layers:
//! [`crate::load_edited`] checks the new text together with those before it is written.

mod file;
mod outline;
mod splice;

use camino::Utf8Path;
use serde_json::{Map, Value};

pub use self::file::write;
use self::outline::{NodeShape, OutlineNode};
pub(crate) use self::splice::quoted;
use crate::names::{folded, nearest};
use crate::rule::SchemaRule;
use crate::tree::ConfigTree;
use crate::{dialect, normalize};

/// Reasons for which a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("`{0}` is not a valid key: write one such as `defaults.runtime`")]
    BadPath(String),
    #[error("there is no key `{key}` in `{inside}`{}", did_you_mean(.near))]
    UnknownKey { key: String, inside: String, near: Option<String> },
    #[error("`{0}` is not in the file")]
    Absent(String),
    #[error("`{0}` already exists")]
    Present(String),
    #[error("`{0}` is a mapping: set one of its keys, such as `{0}.{1}`")]
    Mapping(String, String),
    #[error("{what}{}", .hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Invalid { what: String, hint: Option<String> },
    #[error("line {line}: {what}")]
    Malformed { line: usize, what: String },
    #[error("`{0}` cannot be changed without touching more of the file: please edit line {1} by hand")]
    Unsafe(String, usize),
}

/// Sets a key, such as `defaults.runtime`, to a value as it is written in the file. Missing parents are created.
///
/// A part of the key that contains a dot can be quoted: `projects."my.app".agent`.
pub fn set(text: &str, key: &str, value: &str) -> Result<String, EditError> {
    set_path(text, &parse_key(key)?, value)
}

/// Removes a key with its value. Comments around it stay.
pub fn unset(text: &str, key: &str) -> Result<String, EditError> {
    unset_path(text, &parse_key(key)?)
}

/// Adds a project. Each of `fields` is a key of a project, such as `path`, and its value.
pub fn add_project(text: &str, name: &str, fields: &[(&str, &str)]) -> Result<String, EditError> {
    let path = |key: &str| vec!["projects".to_owned(), name.to_owned(), key.to_owned()];
    if lookup(&read(text)?, &names_of(text, &path("path")[..2])?).is_some() {
        return Err(EditError::Present(format!("projects.{name}")));
    }
    let mut text = text.to_owned();
    for (key, value) in fields {
        text = set_path(&text, &path(key), value)?;
    }
    Ok(text)
}

/// Removes a project.
pub fn remove_project(text: &str, name: &str) -> Result<String, EditError> {
    unset_path(text, &["projects".to_owned(), name.to_owned()])
}

fn set_path(text: &str, path: &[String], value: &str) -> Result<String, EditError> {
    let before = read(text)?;
    let rule = rule_of(path);
    let path = names_of(text, path)?;
    let outline = OutlineNode::read(text)?;
    let wanted = splice::scalar(value, &rule);
    let unsafe_edit = |line| EditError::Unsafe(path.join("."), line);

    let (node, depth) = descend(&outline, &path);
    let line = line_of(text, node.start);
    let edited = if depth == path.len() {
        match &node.shape {
            NodeShape::Mapping { entries, .. } if !wanted.starts_with('{') && !entries.is_empty() => {
                return Err(EditError::Mapping(path.join("."), entries[0].key.clone()));
            }
            _ => splice::replace(text, node, &wanted),
        }
    } else {
        splice::insert(text, node, &path[depth..], &wanted)
    }
    .ok_or_else(|| unsafe_edit(line))?;

    let mut expected = before;
    let value = read(&format!("v: {wanted}\n"))?["v"].clone();
    put(&mut expected, &path, value);
    let edited = confirm(edited, &expected).ok_or_else(|| unsafe_edit(line))?;
    // A file that was invalid before may be repaired step by step.
    match mistake(&edited) {
        Some(mistake) if self::mistake(text).is_none() => Err(mistake),
        _ => Ok(edited),
    }
}

/// Returns the first mistake in a text that no other layer can correct.
fn mistake(text: &str) -> Option<EditError> {
    let mut tree = ConfigTree::read(0, text).ok()?;
    let found = match dialect::to_main(&mut tree, Utf8Path::new("/")) {
        Ok(()) => normalize::normalize_layer(&mut tree).mistakes.into_iter().next()?,
        Err(mistake) => mistake,
    };
    Some(EditError::Invalid { what: found.what, hint: found.hint })
}

fn unset_path(text: &str, path: &[String]) -> Result<String, EditError> {
    let before = read(text)?;
    let path = names_of(text, path)?;
    let outline = OutlineNode::read(text)?;
    if lookup(&before, &path).is_none() {
        return Err(EditError::Absent(path.join(".")));
    }
    let (last, parents) = path.split_last().expect("a key has parts");
    let (holder, depth) = descend(&outline, parents);
    let line = line_of(text, holder.start);
    let unsafe_edit = || EditError::Unsafe(path.join("."), line);
    let edited = match depth == parents.len() {
        true => splice::remove(text, holder, last).ok_or_else(unsafe_edit)?,
        false => return Err(unsafe_edit()),
    };
    let mut expected = before;
    take(&mut expected, &path);
    confirm(edited, &expected).ok_or_else(unsafe_edit)
}

/// Returns the text if it has the expected content and nothing else.
fn confirm(edited: String, expected: &Value) -> Option<String> {
    let after = read(&edited).ok()?;
    (without_nothing(after) == without_nothing(expected.clone())).then_some(edited)
}

/// Removes empty values, because `a:` and `a: {}` mean the same.
fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept: Map<_, _> = map
                .into_iter()
                .map(|(key, value)| (key, without_nothing(value)))
                .filter(|(_, value)| !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty()))
                .collect();
            Value::Object(kept)
        }
        Value::Array(list) => list.into_iter().map(without_nothing).collect(),
        other => other,
    }
}

fn read(text: &str) -> Result<Value, EditError> {
    let tree = ConfigTree::read(0, text)
        .map_err(|malformed| EditError::Malformed { line: malformed.at.line, what: malformed.what })?;
    Ok(tree.to_json())
}

/// Returns the names that the file itself uses for a path, so that snake case stays snake case.
fn names_of(text: &str, path: &[String]) -> Result<Vec<String>, EditError> {
    let mut here = &read(text)?;
    let mut rule = SchemaRule::root();
    let mut names = Vec::new();
    let nothing = Value::Null;
    let path = match moved(here, path) {
        Some(path) => return Ok(path),
        None => path,
    };
    for part in path {
        let known = here.as_object().into_iter().flatten().find(|(key, _)| match rule.property(part) {
            Some((right, _)) => rule.property(key).is_some_and(|(known, _)| known == right),
            None => *key == part,
        });
        let (name, inner) = match (rule.property(part), rule.others()) {
            (Some((right, inner)), _) => (right.to_owned(), inner),
            (None, Some(inner)) => (part.clone(), inner.unwrap_or_else(SchemaRule::anything)),
            (None, None) => {
                let all = rule.properties().into_iter().flatten().map(|(name, _)| name.as_str());
                let inside = if names.is_empty() { "the configuration".into() } else { names.join(".") };
                let near = nearest(part, all).map(str::to_owned);
                return Err(EditError::UnknownKey { key: part.clone(), inside, near });
            }
        };
        names.push(known.map_or(name, |(key, _)| key.clone()));
        here = known.map_or(&nothing, |(_, value)| value);
        rule = inner;
    }
    Ok(names)
}

/// Returns the path at which a file in another dialect has what the main dialect has at `path`.
fn moved(top: &Value, path: &[String]) -> Option<Vec<String>> {
    let find = |holder: &Value, key: &str| {
        holder.as_object()?.keys().find(|known| folded(known) == folded(key)).cloned()
    };
    match path {
        [defaults, slot]
            if defaults == "defaults" && top.get("projects").is_none() && top.get("defaults").is_none() =>
        {
            let slot = find(top, slot)?;
            let plugin = top[&slot].is_object().then(|| "plugin".to_owned());
            Some([slot].into_iter().chain(plugin).collect())
        }
        [lifecycle, most] if lifecycle == "lifecycle" => {
            let orchestrator = find(top, "orchestrator")?;
            let most = find(&top[&orchestrator], most).filter(|_| folded(most) == "maxparallelagents")?;
            Some(vec![orchestrator, most])
        }
        [reactions, kind, rest @ ..] if reactions == "reactions" => {
            let orchestrator = find(top, "orchestrator")?;
            let handlers = find(&top[&orchestrator], "reactionHandlers")?;
            let (_, rule) = SchemaRule::root().property("reactions")?;
            let (right, reaction) = rule.property(kind)?;
            let same = |key: &&String| rule.property(key).is_some_and(|(known, _)| known == right);
            let handler = top[&orchestrator][&handlers].as_object()?.keys().find(same)?.clone();
            let mut path = vec![orchestrator, handlers, handler];
            if let [field, ..] = rest {
                let (right, _) = reaction.property(field)?;
                let same = |key: &&String| reaction.property(key).is_some_and(|(known, _)| known == right);
                let fields = lookup(top, &path)?.as_object()?;
                path.push(fields.keys().find(same).cloned().unwrap_or_else(|| right.to_owned()));
            }
            Some(path)
        }
        _ => None,
    }
}

fn rule_of(path: &[String]) -> SchemaRule {
    path.iter().fold(SchemaRule::root(), |rule, part| match (rule.property(part), rule.others().flatten()) {
        (Some((_, inner)), _) | (None, Some(inner)) => inner,
        _ => SchemaRule::anything(),
    })
}

/// Returns the last existing node on the path, and the number of parts that lead to it.
fn descend<'a>(outline: &'a OutlineNode, path: &[String]) -> (&'a OutlineNode, usize) {
    let mut here = outline;
    for (depth, part) in path.iter().enumerate() {
        match here.entry(part) {
            Some(entry) => here = &entry.value,
            None => return (here, depth),
        }
    }
    (here, path.len())
}

fn lookup<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |here, part| here.get(part))
}

fn put(value: &mut Value, path: &[String], new: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let map = value.as_object_mut().expect("just made");
    put(map.entry(first.clone()).or_insert(Value::Null), rest, new);
}

fn take(value: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    let holder = parents.iter().try_fold(value, |here, part| here.get_mut(part));
    if let Some(Value::Object(map)) = holder {
        map.remove(last);
    }
}

fn parse_key(key: &str) -> Result<Vec<String>, EditError> {
    let bad = || EditError::BadPath(key.to_owned());
    let mut parts = Vec::new();
    let mut rest = key;
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(bad)?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if part.is_empty() || part.contains(char::is_control) {
            return Err(bad());
        }
        parts.push(part.to_owned());
        match behind.strip_prefix('.') {
            Some(behind) => rest = behind,
            None if behind.is_empty() => return Ok(parts),
            None => return Err(bad()),
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

fn did_you_mean(near: &Option<String>) -> String {
    near.as_ref()
        .filter(|near| !folded(near).is_empty())
        .map(|near| format!(": did you mean `{near}`?"))
        .unwrap_or_default()
}
