//! What the schema says of one place in a configuration.
//!
//! The schema that is made from the types is the one description of what may stand where, and it is asked here for every
//! key that is read. Besides the words of JSON Schema it has these of our own:
//!
//! | word | at | meaning |
//! |---|---|---|
//! | `x-also` | a key | other names by which documents know it |
//! | `x-also` | a choice | other words, and what they mean |
//! | `x-one` | a list | one thing by itself stands for a list of it |
//! | `x-short` | a mapping | a plain text stands for a mapping with this one key |
//! | `x-truth` | a mapping with `x-short` | it is a plain `true` or `false` that does |
//! | `x-kind` | a text | `time`, `size`, `path`, `address`, `regex` or `condition` |
//! | `x-kind` | a mapping | `events` of the user's own are allowed, or it has `tools`: one that is wrong stops no other |
//! | `x-env` | anything | `now` (as at the top), `late`: references are put in where it is used, `never`: it has none |
//! | `x-text` | a mapping | numbers and truths behind its keys are texts |

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::names::folded;

/// The schema with our own words in it.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    // Read by the same rules, and no part of a configuration.
    generator.subschema_for::<crate::shape::PolicyCases>();
    generator.into_root_schema_for::<crate::shape::Config>().to_value()
});

/// What holds at one place: a schema and the ones it refers to, the nearest first.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    layers: Vec<&'static Value>,
}

/// How references to the environment are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refs {
    /// They are replaced when the configuration is read.
    Now,
    /// They stay, and are replaced where they are used.
    Late,
    /// What looks like one is none.
    Never,
}

impl Rule {
    pub(crate) fn root() -> Rule {
        Rule::of(&SCHEMA)
    }

    /// What holds for a type by itself.
    pub(crate) fn named(kind: &str) -> Rule {
        SCHEMA["$defs"].get(kind).map_or_else(Rule::anything, Rule::of)
    }

    /// The rule that allows anything.
    pub(crate) fn anything() -> Rule {
        Rule { layers: vec![] }
    }

    /// The rule of a plain text.
    pub(crate) fn text() -> Rule {
        static TEXT: LazyLock<Value> = LazyLock::new(|| serde_json::json!({ "type": "string" }));
        Rule { layers: vec![&TEXT] }
    }

    fn of(schema: &'static Value) -> Rule {
        let mut layers = vec![schema];
        let mut here = schema;
        loop {
            let next = if let Some(name) = here.get("$ref").and_then(Value::as_str) {
                SCHEMA.pointer(name.trim_start_matches('#'))
            } else if let Some(choices) = here.get("anyOf").and_then(Value::as_array) {
                // An absent value is the only alternative that the types make.
                choices.iter().find(|choice| choice.get("type") != Some(&Value::String("null".into())))
            } else {
                None
            };
            match next {
                Some(next) => {
                    layers.push(next);
                    here = next;
                }
                None => return Rule { layers },
            }
        }
    }

    pub(crate) fn get(&self, word: &str) -> Option<&'static Value> {
        self.layers.iter().find_map(|layer| layer.get(word))
    }

    pub(crate) fn word(&self, word: &str) -> Option<&'static str> {
        self.get(word).and_then(Value::as_str)
    }

    /// The types that may stand here; none if anything may.
    pub(crate) fn types(&self) -> Vec<&'static str> {
        let types: Vec<&str> = match self.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ if !self.choices().is_empty() => vec!["string"],
            _ => vec![],
        };
        types.into_iter().filter(|kind| *kind != "null").collect()
    }

    /// The words that may stand here, if it is a choice.
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

    /// The right word for one that somebody wrote.
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

    /// The right key for one that somebody wrote, and what holds behind it.
    pub(crate) fn property(&self, written: &str) -> Option<(&'static str, Rule)> {
        let properties = self.properties()?;
        let wanted = folded(written);
        let (name, schema) = properties.iter().find(|(name, _)| folded(name) == wanted).or_else(|| {
            properties.iter().find(|(_, schema)| {
                let also = schema.get("x-also").and_then(Value::as_array);
                also.into_iter().flatten().filter_map(Value::as_str).any(|name| folded(name) == wanted)
            })
        })?;
        Some((name, Rule::of(schema)))
    }

    /// What holds behind keys that are not named; `None` if there must be none, and no rule if anything may stand there.
    pub(crate) fn others(&self) -> Option<Option<Rule>> {
        match self.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema @ Value::Object(_)) => Some(Some(Rule::of(schema))),
            _ => Some(None),
        }
    }

    pub(crate) fn items(&self) -> Option<Rule> {
        self.get("items").map(Rule::of)
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &'static str> {
        self.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// How references are treated here, if it is not as around it.
    pub(crate) fn refs(&self) -> Option<Refs> {
        match self.word("x-env")? {
            "late" => Some(Refs::Late),
            "now" => Some(Refs::Now),
            _ => Some(Refs::Never),
        }
    }

    /// The name of the type that it is, if it has one.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        self.layers.iter().rev().find_map(|layer| layer.get("$ref")?.as_str()?.rsplit('/').next())
    }

    /// What is said of the type, and not of this place.
    pub(crate) fn description_of_kind(&self) -> Option<&'static str> {
        self.layers.last()?.get("description")?.as_str()
    }

    pub(crate) fn all_properties(&self) -> Vec<(String, Rule)> {
        let properties = self.properties().into_iter().flatten();
        properties.map(|(name, schema)| (name.clone(), Rule::of(schema))).collect()
    }
}
