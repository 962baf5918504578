//! A YAML document as a tree that knows where each of its parts stands.
//!
//! Every later step (dialects, layers, references, types) works on this tree, so that whatever goes wrong can be shown
//! at its place. What a document may cost is bounded here, before anything else looks at it.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Location, Spanned};

/// No configuration file may be longer than this.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Deeper than any configuration is. Reading takes some 40 KB of stack a level in a build for debugging, and a thread may
/// have no more than 2 MB.
const MAX_DEPTH: usize = 24;

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

/// Why a text is no tree.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) at: At,
    pub(crate) what: String,
}

impl Tree {
    /// Reads the text of the file with this number. An empty document is an empty mapping.
    pub(crate) fn read(file: usize, text: &str) -> Result<Tree, Malformed> {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_depth: MAX_DEPTH,
                max_nodes: 50_000,
                max_events: 200_000,
                max_aliases: 1_000,
                max_anchors: 1_000,
                max_documents: 1,
                max_total_scalar_bytes: MAX_BYTES,
            },
            alias_limits: serde_saphyr::alias_limits! {
                max_total_replayed_events: 20_000,
                max_replay_stack_depth: 16,
                max_alias_expansions_per_anchor: 200,
            },
            duplicate_keys: DuplicateKeyPolicy::Error,
            with_snippet: false,
            emit_comments: false,
        };
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
            Ok(raw) => {
                let mut tree = raw.into_tree(file, text);
                if tree.value == Value::Null {
                    tree.value = Value::Map(Map::new());
                }
                Ok(tree)
            }
            Err(err) => {
                let at = err.location().map_or(At { file, line: 1, column: 1 }, |at| place(file, at));
                Err(Malformed { at, what: plain_words(&err) })
            }
        }
    }

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
            let next = match &here.value {
                Value::Map(map) => map.get(part).map(|entry| &entry.tree),
                Value::List(list) => part.parse().ok().and_then(|n: usize| list.get(n)),
                _ => None,
            };
            match next {
                Some(next) => here = next,
                None => break,
            }
        }
        here
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

fn place(file: usize, at: Location) -> At {
    At { file, line: at.line() as usize, column: at.column() as usize }
}

const TOO_DEEP: &str = "this is nested deeper than a configuration may be";
const TOO_MANY_ALIASES: &str = "the aliases of this file come to more than a configuration may hold";

/// The parser's own words, without what only its callers understand.
fn plain_words(err: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error as E;
    match err.without_snippet() {
        E::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` is given twice"),
        E::DuplicateMappingKey { .. } => "a key is given twice".into(),
        E::MultipleDocuments { .. } | E::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a configuration is one document: leave out what is behind `---`".into()
        }
        E::Budget { breach: BudgetBreach::Depth { .. }, .. } => TOO_DEEP.into(),
        E::Budget { .. } => "this file holds more than a configuration may".into(),
        E::Unexpected { expected: "string scalar", .. } => "a key has to be a plain text".into(),
        err => {
            let text = err.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            let text = text.lines().next().unwrap_or_default().trim_end_matches(':');
            // The limits of the parser itself have no kind of their own.
            match text {
                text if text.contains("recursion limit") => TOO_DEEP.to_owned(),
                text if text.contains("alias") && text.contains("exceeded") => TOO_MANY_ALIASES.to_owned(),
                text => text.to_owned(),
            }
        }
    }
}

/// What serde reads; the number of the file is not known to it.
enum Raw {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Key>, Spanned<Raw>)>),
}

trait IntoTree {
    fn into_tree(self, file: usize, text: &str) -> Tree;
}

impl IntoTree for Spanned<Raw> {
    fn into_tree(self, file: usize, text: &str) -> Tree {
        let span = self.defined.span();
        let source = || {
            let start = usize::try_from(span.byte_offset()?).ok()?;
            let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
            text.get(start..end).map(str::to_owned)
        };
        let written = matches!(self.value, Raw::Number(_) | Raw::Bool(_)).then(source).flatten();
        let value = match self.value {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(value),
            Raw::Number(number) => Value::Number(number),
            Raw::Text(text) => Value::Text(text),
            Raw::List(list) => Value::List(list.into_iter().map(|part| part.into_tree(file, text)).collect()),
            Raw::Map(map) => {
                let entry = |(key, tree): (Spanned<Key>, Spanned<Raw>)| {
                    (
                        key.value.0,
                        Entry { key_at: place(file, key.defined), tree: tree.into_tree(file, text) },
                    )
                };
                Value::Map(map.into_iter().map(entry).collect())
            }
        };
        Tree { value, at: place(file, self.defined), written }
    }
}

/// A key is text, even if it looks like a number: a project may be called `42`.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        String::deserialize(deserializer).map(Key)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, a list or a mapping")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Raw, E> {
        Ok(serde_json::Number::from_f64(value).map_or(Raw::Null, Raw::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(part) = seq.next_element()? {
            list.push(part);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
