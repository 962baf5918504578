//! From text to a tree. What a document may cost is bounded here, before anything else looks at it.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Location, Spanned};

use super::{At, Entry, Map, Tree, Value};

/// No configuration file may be longer than this.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Deeper than any configuration is. Reading takes some 40 KB of stack a level in a build for debugging, and a thread may
/// have no more than 2 MB.
const MAX_DEPTH: usize = 24;

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
