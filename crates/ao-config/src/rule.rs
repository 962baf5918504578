//! Rules: the part of the schema that applies to one position in a configuration.
//!
//! The schema is generated from the types, and it is the only description of what is allowed where; every key that is
//! read is checked against it. Besides the keywords of JSON Schema it has these of our own:
//!
//! | keyword | on | meaning |
//! |---|---|---|
//! | `x-also` | a key | other names of it |
//! | `x-also` | a choice | other spellings, and the choice they mean |
//! | `x-one` | a list | a single item stands for a list of one |
//! | `x-short` | a mapping | a plain string stands for a mapping with this one key |
//! | `x-truth` | a mapping with `x-short` | the short form is `true` or `false` instead |
//! | `x-kind` | a string | `time`, `size`, `path`, `address`, `regex` or `condition` |
//! | `x-kind` | a mapping | `events`: custom events are allowed; `tools`: a mistake in one entry does not stop the others |
//! | `x-env` | anything | references are replaced `now` (the default), `late` (when the value is used) or `never` |
//! | `x-text` | a mapping | numbers and booleans as values are read as strings |

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::names::folded;

/// The schema with our own keywords.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    // Read by the same rules, although it is not part of a configuration.
    generator.subschema_for::<crate::shape::PolicyCases>();
    let mut schema = generator.into_root_schema_for::<crate::shape::Config>().to_value();
    drop_nulls(&mut schema);
    schema
});

/// Removes keys that are `null`: absent options, and the defaults of optional keys.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, part| !part.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The schemas that apply at one position: its own and those it refers to, the nearest first.
#[derive(Debug, Clone)]
pub(crate) struct SchemaRule {
    layers: Vec<&'static Value>,
}

/// The treatment of references to environment variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefTiming {
    /// Replaced when the configuration is read.
    Now,
    /// Kept, and replaced when the value is used.
    Late,
    /// Not references at all.
    Never,
}

impl SchemaRule {
    pub(crate) fn root() -> SchemaRule {
        SchemaRule::of(&SCHEMA)
    }

    /// Returns the rule of a type.
    pub(crate) fn named(kind: &str) -> SchemaRule {
        SCHEMA["$defs"].get(kind).map_or_else(SchemaRule::anything, SchemaRule::of)
    }

    /// Returns the rule that allows anything.
    pub(crate) fn anything() -> SchemaRule {
        SchemaRule { layers: vec![] }
    }

    /// Returns the rule of a string.
    pub(crate) fn text() -> SchemaRule {
        static TEXT: LazyLock<Value> = LazyLock::new(|| serde_json::json!({ "type": "string" }));
        SchemaRule { layers: vec![&TEXT] }
    }

    fn of(schema: &'static Value) -> SchemaRule {
        let mut layers = vec![schema];
        let mut here = schema;
        loop {
            let next = if let Some(name) = here.get("$ref").and_then(Value::as_str) {
                SCHEMA.pointer(name.trim_start_matches('#'))
            } else if let Some(choices) = here.get("anyOf").and_then(Value::as_array) {
                // The types generate no other alternative than an absent value.
                choices.iter().find(|choice| choice.get("type") != Some(&Value::String("null".into())))
            } else {
                None
            };
            match next {
                Some(next) => {
                    layers.push(next);
                    here = next;
                }
                None => return SchemaRule { layers },
            }
        }
    }

    pub(crate) fn get(&self, word: &str) -> Option<&'static Value> {
        self.layers.iter().find_map(|layer| layer.get(word))
    }

    pub(crate) fn word(&self, word: &str) -> Option<&'static str> {
        self.get(word).and_then(Value::as_str)
    }

    /// Returns the types that are allowed; empty if all are.
    pub(crate) fn types(&self) -> Vec<&'static str> {
        let types: Vec<&str> = match self.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ if !self.choices().is_empty() => vec!["string"],
            _ => vec![],
        };
        types.into_iter().filter(|kind| *kind != "null").collect()
    }

    /// Returns the allowed strings, if it is a choice.
    pub(crate) fn choices(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        let mut add = |schema: &'static Value| {
            words.extend(schema.get("const").and_then(Value::as_str));
            words.extend(
                schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str),
            );
        };
        for layer in &self.layers {
            add(layer);
            layer.get("oneOf").and_then(Value::as_array).into_iter().flatten().for_each(&mut add);
        }
        words
    }

    /// Finds the choice for a spelling.
    pub(crate) fn choice(&self, written: &str) -> Option<&'static str> {
        let same = |word: &&str| folded(word) == folded(written);
        self.choices().into_iter().find(same).or_else(|| {
            let also = self.get("x-also")?.as_object()?;
            also.iter().find(|(word, _)| same(&word.as_str())).and_then(|(_, meant)| meant.as_str())
        })
    }

    pub(crate) fn properties(&self) -> Option<&'static Map<String, Value>> {
        self.get("properties").and_then(Value::as_object)
    }

    /// Finds the key for a spelling, and the rule of its value.
    pub(crate) fn property(&self, written: &str) -> Option<(&'static str, SchemaRule)> {
        let properties = self.properties()?;
        let wanted = folded(written);
        let (name, schema) = properties.iter().find(|(name, _)| folded(name) == wanted).or_else(|| {
            properties.iter().find(|(_, schema)| {
                let also = schema.get("x-also").and_then(Value::as_array);
                also.into_iter().flatten().filter_map(Value::as_str).any(|name| folded(name) == wanted)
            })
        })?;
        Some((name, SchemaRule::of(schema)))
    }

    /// Returns the rule for other keys; `None` if there must be none, `Some(None)` if anything is allowed.
    pub(crate) fn others(&self) -> Option<Option<SchemaRule>> {
        match self.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema @ Value::Object(_)) => Some(Some(SchemaRule::of(schema))),
            _ => Some(None),
        }
    }

    pub(crate) fn items(&self) -> Option<SchemaRule> {
        self.get("items").map(SchemaRule::of)
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &'static str> {
        self.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the treatment of references, if it differs from that of the parent.
    pub(crate) fn refs(&self) -> Option<RefTiming> {
        match self.word("x-env")? {
            "late" => Some(RefTiming::Late),
            "now" => Some(RefTiming::Now),
            _ => Some(RefTiming::Never),
        }
    }

    /// Returns the name of its type, if it has one.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        self.layers.iter().rev().find_map(|layer| layer.get("$ref")?.as_str()?.rsplit('/').next())
    }

    /// Returns the description of the type, not that of this key.
    pub(crate) fn description_of_kind(&self) -> Option<&'static str> {
        self.layers.last()?.get("description")?.as_str()
    }

    pub(crate) fn all_properties(&self) -> Vec<(String, SchemaRule)> {
        let properties = self.properties().into_iter().flatten();
        properties.map(|(name, schema)| (name.clone(), SchemaRule::of(schema))).collect()
    }
}
