//! A configuration as a tree that knows where each of its parts stands.
//!
//! Every step (dialects, layers, references, types) works on this tree, so that whatever goes wrong can be shown at its
//! place.

mod read;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

pub(crate) use self::read::MAX_BYTES;

/// A part of a document, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    pub(crate) value: Value,
    pub(crate) at: At,
    /// What stands in the file, where the value is not the same: a reference that was replaced, or a number to the letter.
    pub(crate) written: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Tree>),
    Map(Map),
}

pub(crate) type Map = IndexMap<String, Entry>;

/// What stands behind a key, and where the key stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key_at: At,
    pub(crate) tree: Tree,
}

/// A place in one of the files that are read together. Lines and columns count from 1; 0 is a place that nobody wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub(crate) file: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Tree {
    /// A part that nobody wrote, told of as standing where another does.
    pub(crate) fn text(text: impl Into<String>, at: At) -> Tree {
        Tree { value: Value::Text(text.into()), at, written: None }
    }

    pub(crate) fn map(at: At) -> Tree {
        Tree { value: Value::Map(Map::new()), at, written: None }
    }

    pub(crate) fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Follows keys and positions, and returns the last part that exists on the way.
    pub(crate) fn follow<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> &Tree {
        let mut here = self;
        for part in path {
            match here.part(part) {
                Some(next) => here = next,
                None => break,
            }
        }
        here
    }

    /// Follows keys and positions to the end.
    pub(crate) fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Tree> {
        path.into_iter().try_fold(self, Tree::part)
    }

    fn part(&self, part: &str) -> Option<&Tree> {
        match &self.value {
            Value::Map(map) => map.get(part).map(|entry| &entry.tree),
            Value::List(list) => part.parse().ok().and_then(|n: usize| list.get(n)),
            _ => None,
        }
    }

    /// Lays another tree over this one: mappings field by field, anything else as a whole.
    pub(crate) fn overlay(&mut self, over: Tree) {
        match (&mut self.value, over.value) {
            (_, Value::Null) => {}
            (Value::Map(mine), Value::Map(theirs)) => {
                for (key, entry) in theirs {
                    match mine.get_mut(&key) {
                        Some(known) => known.tree.overlay(entry.tree),
                        None => {
                            mine.insert(key, entry);
                        }
                    }
                }
            }
            (mine, theirs) => {
                *mine = theirs;
                self.at = over.at;
                self.written = over.written;
            }
        }
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::Text(text) => text.as_str().into(),
            Value::List(list) => list.iter().map(Tree::to_json).collect(),
            Value::Map(map) => map.iter().map(|(key, entry)| (key.clone(), entry.tree.to_json())).collect(),
        }
    }

    /// Words about this value that do not tell what came from the environment.
    pub(crate) fn veiled(&self, words: String) -> String {
        match (&self.written, &self.value) {
            (Some(written), Value::Text(text)) if crate::refs::has_refs(written) && !text.is_empty() => {
                words.replace(text.as_str(), written)
            }
            _ => words,
        }
    }

    /// What it is, for people.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            _ if self.written.as_deref().is_some_and(crate::refs::has_refs) => {
                format!("`{}`", self.written.as_deref().unwrap_or_default())
            }
            Value::Null => "nothing".into(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Number(number) => format!("`{number}`"),
            Value::Text(text) if text.chars().count() <= 40 && !text.contains(char::is_control) => {
                format!("`{text}`")
            }
            Value::Text(_) => "a text".into(),
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a mapping".into(),
        }
    }
}

/// In the order in which it was written, and with references instead of what they stand for.
impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            _ if self.written.as_deref().is_some_and(crate::refs::has_refs) => {
                self.written.serialize(serializer)
            }
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(list) => serializer.collect_seq(list),
            Value::Map(map) => serializer.collect_map(map.iter().map(|(key, entry)| (key, &entry.tree))),
        }
    }
}
