//! Parses YAML into a tree. The cost of a document is bounded here, before any other code sees it.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Location, Spanned};

use super::{ConfigTree, TextPosition, TreeEntry, TreeMap, TreeValue};

/// The maximum size of a configuration file.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Deeper than any real configuration. Parsing takes about 40 KB of stack per level in a debug build, and a thread may
/// have no more than 2 MB.
const MAX_DEPTH: usize = 24;

/// A syntax error.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: TextPosition,
    pub(crate) what: String,
}

impl ConfigTree {
    /// Parses the text of the file with this number. An empty document is an empty mapping.
    pub(crate) fn read(file: usize, text: &str) -> Result<ConfigTree, SyntaxError> {
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
        match serde_saphyr::from_str_with_options::<Spanned<RawValue>>(text, options) {
            Ok(raw) => {
                let mut tree = raw.into_tree(file, text);
                if tree.value == TreeValue::Null {
                    tree.value = TreeValue::Map(TreeMap::new());
                }
                Ok(tree)
            }
            Err(err) => {
                let at =
                    err.location().map_or(TextPosition { file, line: 1, column: 1 }, |at| place(file, at));
                Err(SyntaxError { at, what: plain_words(&err) })
            }
        }
    }
}

fn place(file: usize, at: Location) -> TextPosition {
    TextPosition { file, line: at.line() as usize, column: at.column() as usize }
}

const TOO_DEEP: &str = "this is nested too deeply";
const TOO_MANY_ALIASES: &str = "the aliases of this file expand to more than a configuration may contain";

/// Returns the parser's message, without the parts that only make sense to its callers.
fn plain_words(err: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error as E;
    match err.without_snippet() {
        E::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` appears twice"),
        E::DuplicateMappingKey { .. } => "a key appears twice".into(),
        E::MultipleDocuments { .. } | E::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a configuration is one document: remove everything after `---`".into()
        }
        E::Budget { breach: BudgetBreach::Depth { .. }, .. } => TOO_DEEP.into(),
        E::Budget { .. } => "this file is larger than a configuration may be".into(),
        E::Unexpected { expected: "string scalar", .. } => "a key has to be a string".into(),
        err => {
            let text = err.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            let text = text.lines().next().unwrap_or_default().trim_end_matches(':');
            // The limits of the parser itself have no error kind.
            match text {
                text if text.contains("recursion limit") => TOO_DEEP.to_owned(),
                text if text.contains("alias") && text.contains("exceeded") => TOO_MANY_ALIASES.to_owned(),
                text => text.to_owned(),
            }
        }
    }
}

/// The value that serde reads, without the number of the file.
enum RawValue {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Spanned<RawValue>>),
    Map(Vec<(Spanned<RawKey>, Spanned<RawValue>)>),
}

trait IntoTree {
    fn into_tree(self, file: usize, text: &str) -> ConfigTree;
}

impl IntoTree for Spanned<RawValue> {
    fn into_tree(self, file: usize, text: &str) -> ConfigTree {
        let span = self.defined.span();
        let source = || {
            let start = usize::try_from(span.byte_offset()?).ok()?;
            let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
            text.get(start..end).map(str::to_owned)
        };
        let written = matches!(self.value, RawValue::Number(_) | RawValue::Bool(_)).then(source).flatten();
        let value = match self.value {
            RawValue::Null => TreeValue::Null,
            RawValue::Bool(value) => TreeValue::Bool(value),
            RawValue::Number(number) => TreeValue::Number(number),
            RawValue::Text(text) => TreeValue::Text(text),
            RawValue::List(list) => {
                TreeValue::List(list.into_iter().map(|part| part.into_tree(file, text)).collect())
            }
            RawValue::Map(map) => {
                let entry = |(key, tree): (Spanned<RawKey>, Spanned<RawValue>)| {
                    (
                        key.value.0,
                        TreeEntry { key_at: place(file, key.defined), tree: tree.into_tree(file, text) },
                    )
                };
                TreeValue::Map(map.into_iter().map(entry).collect())
            }
        };
        ConfigTree { value, at: place(file, self.defined), written }
    }
}

/// A key. It is a string even if it looks like a number: a project may be called `42`.
struct RawKey(String);

impl<'de> Deserialize<'de> for RawKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawKey, D::Error> {
        String::deserialize(deserializer).map(RawKey)
    }
}

impl<'de> Deserialize<'de> for RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawValue, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = RawValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number, a list or a mapping")
    }

    fn visit_unit<E: de::Error>(self) -> Result<RawValue, E> {
        Ok(RawValue::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<RawValue, E> {
        Ok(RawValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawValue, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<RawValue, E> {
        Ok(RawValue::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<RawValue, E> {
        Ok(RawValue::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<RawValue, E> {
        Ok(RawValue::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<RawValue, E> {
        Ok(serde_json::Number::from_f64(value).map_or(RawValue::Null, RawValue::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<RawValue, E> {
        Ok(RawValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawValue, A::Error> {
        let mut list = Vec::new();
        while let Some(part) = seq.next_element()? {
            list.push(part);
        }
        Ok(RawValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(RawValue::Map(entries))
    }
}
