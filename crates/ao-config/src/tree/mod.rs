//! The tree of a document, with the position of each part.
//!
//! Every step (dialects, layers, references, types) works on this tree, so that each mistake can be shown at its
//! position.

mod read;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

pub(crate) use self::read::MAX_BYTES;

/// A part of a document, and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfigTree {
    pub(crate) value: TreeValue,
    pub(crate) at: TextPosition,
    /// The text in the file, if the value differs from it: a reference that was replaced, or a number as it was
    /// written.
    pub(crate) written: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TreeValue {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<ConfigTree>),
    Map(TreeMap),
}

pub(crate) type TreeMap = IndexMap<String, TreeEntry>;

/// A value and the position of its key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreeEntry {
    pub(crate) key_at: TextPosition,
    pub(crate) tree: ConfigTree,
}

/// A position in one of the files. Lines and columns count from 1; 0 means that the part is in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextPosition {
    pub(crate) file: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl ConfigTree {
    /// Creates a part that is in no file; mistakes in it are reported at `at`.
    pub(crate) fn text(text: impl Into<String>, at: TextPosition) -> ConfigTree {
        ConfigTree { value: TreeValue::Text(text.into()), at, written: None }
    }

    pub(crate) fn map(at: TextPosition) -> ConfigTree {
        ConfigTree { value: TreeValue::Map(TreeMap::new()), at, written: None }
    }

    pub(crate) fn as_map(&self) -> Option<&TreeMap> {
        match &self.value {
            TreeValue::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_map_mut(&mut self) -> Option<&mut TreeMap> {
        match &mut self.value {
            TreeValue::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            TreeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Follows keys and indices, and returns the last part that exists.
    pub(crate) fn follow<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> &ConfigTree {
        let mut here = self;
        for part in path {
            match here.part(part) {
                Some(next) => here = next,
                None => break,
            }
        }
        here
    }

    /// Follows keys and indices to the end.
    pub(crate) fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&ConfigTree> {
        path.into_iter().try_fold(self, ConfigTree::part)
    }

    fn part(&self, part: &str) -> Option<&ConfigTree> {
        match &self.value {
            TreeValue::Map(map) => map.get(part).map(|entry| &entry.tree),
            TreeValue::List(list) => part.parse().ok().and_then(|n: usize| list.get(n)),
            _ => None,
        }
    }

    /// Merges another tree over this one: mappings key by key, anything else as a whole.
    pub(crate) fn overlay(&mut self, over: ConfigTree) {
        match (&mut self.value, over.value) {
            (_, TreeValue::Null) => {}
            (TreeValue::Map(mine), TreeValue::Map(theirs)) => {
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
            TreeValue::Null => serde_json::Value::Null,
            TreeValue::Bool(value) => (*value).into(),
            TreeValue::Number(number) => serde_json::Value::Number(number.clone()),
            TreeValue::Text(text) => text.as_str().into(),
            TreeValue::List(list) => list.iter().map(ConfigTree::to_json).collect(),
            TreeValue::Map(map) => {
                map.iter().map(|(key, entry)| (key.clone(), entry.tree.to_json())).collect()
            }
        }
    }

    /// Masks values from the environment in a text about this part.
    pub(crate) fn masked(&self, words: String) -> String {
        match (&self.written, &self.value) {
            (Some(written), TreeValue::Text(text)) if crate::refs::has_refs(written) && !text.is_empty() => {
                words.replace(text.as_str(), written)
            }
            _ => words,
        }
    }

    /// Describes the value for people.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            _ if self.written.as_deref().is_some_and(crate::refs::has_refs) => {
                format!("`{}`", self.written.as_deref().unwrap_or_default())
            }
            TreeValue::Null => "nothing".into(),
            TreeValue::Bool(value) => format!("`{value}`"),
            TreeValue::Number(number) => format!("`{number}`"),
            TreeValue::Text(text) if text.chars().count() <= 40 && !text.contains(char::is_control) => {
                format!("`{text}`")
            }
            TreeValue::Text(_) => "a string".into(),
            TreeValue::List(_) => "a list".into(),
            TreeValue::Map(_) => "a mapping".into(),
        }
    }
}

/// Serializes in the written order, with references instead of their values.
impl Serialize for ConfigTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            _ if self.written.as_deref().is_some_and(crate::refs::has_refs) => {
                self.written.serialize(serializer)
            }
            TreeValue::Null => serializer.serialize_unit(),
            TreeValue::Bool(value) => serializer.serialize_bool(*value),
            TreeValue::Number(number) => number.serialize(serializer),
            TreeValue::Text(text) => serializer.serialize_str(text),
            TreeValue::List(list) => serializer.collect_seq(list),
            TreeValue::Map(map) => serializer.collect_map(map.iter().map(|(key, entry)| (key, &entry.tree))),
        }
    }
}
