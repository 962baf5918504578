//! Normalizes a tree by the schema: corrects the spelling of keys and choices, expands short forms, and lists all mistakes
//! with their positions.
//!
//! A layer is normalized before it is merged over others, so that both have the same names for the same keys. The merged
//! tree is normalized again with the environment; only then can a key be missing.

mod values;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;

use self::values::{as_text, camel_case, in_words, normal, quoted, retype};

use ao_core::incident::IncidentKind;
use ao_core::reaction::words;

use crate::condition;
use crate::names::{folded, nearest};
use crate::refs::{self, Env, RefError};
use crate::rule::{RefTiming, SchemaRule};
use crate::shape::kind_order;
use crate::shape::units::{ByteSize, TimeSpan};
use crate::tree::{ConfigTree, TextPosition, TreeEntry, TreeMap, TreeValue};

/// A mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigMistake {
    pub(crate) at: TextPosition,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

/// Reads a normalized tree as a value.
pub(crate) fn read_as<T: DeserializeOwned>(tree: &ConfigTree) -> Result<T, ConfigMistake> {
    serde_path_to_error::deserialize(tree.to_json()).map_err(|err| {
        let parts: Vec<String> = err.path().iter().map(|part| part.to_string()).collect();
        let parts = parts.iter().map(|part| part.trim_matches(['[', ']']));
        ConfigMistake { at: tree.follow(parts).at, what: err.inner().to_string(), hint: None }
    })
}

/// The context in which the merged tree is normalized.
#[derive(Debug)]
pub(crate) struct NormalizeContext<'a> {
    pub(crate) env: &'a Env,
    pub(crate) home: Option<&'a Utf8Path>,
    /// The folder of each file, by its number.
    pub(crate) folders: Vec<Utf8PathBuf>,
}

/// All mistakes found.
#[derive(Debug, Default)]
pub(crate) struct NormalizeReport {
    pub(crate) mistakes: Vec<ConfigMistake>,
    /// Missing values that matter only when they are used.
    pub(crate) warnings: Vec<ConfigMistake>,
    /// Mistakes in the user's own agents, by name. They stop neither the configuration nor other agents.
    pub(crate) tools: Vec<(String, ConfigMistake)>,
}

pub(crate) fn normalize_layer(tree: &mut ConfigTree) -> NormalizeReport {
    normalize(tree, None)
}

pub(crate) fn normalize_merged(tree: &mut ConfigTree, context: &NormalizeContext<'_>) -> NormalizeReport {
    normalize(tree, Some(context))
}

/// Normalizes a file other than a configuration by a rule.
pub(crate) fn normalize_as(
    tree: &mut ConfigTree,
    rule: &SchemaRule,
    name: &str,
    context: &NormalizeContext<'_>,
) -> NormalizeReport {
    let mut normalizer = TreeNormalizer { context: Some(context), found: NormalizeReport::default() };
    normalizer.node(tree, rule, RefTiming::Never, name);
    normalizer.found
}

/// Replaces full forms by their short forms, for display.
pub(crate) fn shorten(tree: &mut ConfigTree) {
    shorten_at(tree, &SchemaRule::root());
}

fn normalize(tree: &mut ConfigTree, context: Option<&NormalizeContext<'_>>) -> NormalizeReport {
    let mut normalizer = TreeNormalizer { context, found: NormalizeReport::default() };
    normalizer.node(tree, &SchemaRule::root(), RefTiming::Now, "the configuration");
    normalizer.found
}

struct TreeNormalizer<'a> {
    /// Absent while a single layer is normalized.
    context: Option<&'a NormalizeContext<'a>>,
    found: NormalizeReport,
}

impl TreeNormalizer<'_> {
    fn node(&mut self, tree: &mut ConfigTree, rule: &SchemaRule, refs: RefTiming, name: &str) {
        let refs = rule.refs().unwrap_or(refs);
        if rule.get("x-one").is_some() && !matches!(tree.value, TreeValue::List(_) | TreeValue::Null) {
            let at = tree.at;
            let one = std::mem::replace(tree, ConfigTree::map(at));
            tree.value = TreeValue::List(vec![one]);
        }
        if let (Some(key), TreeValue::Text(_) | TreeValue::Number(_) | TreeValue::Bool(_)) =
            (rule.word("x-short"), &tree.value)
        {
            let at = tree.at;
            let short = std::mem::replace(tree, ConfigTree::map(at));
            let entry = TreeEntry { key_at: at, tree: short };
            tree.as_map_mut().expect("just made").insert(key.to_owned(), entry);
        }
        if self.has_refs(tree, refs) {
            let open = self.put_refs_in(tree, rule, refs);
            if open {
                return;
            }
        }
        if !self.right_type(tree, rule, name) {
            return;
        }
        match &mut tree.value {
            TreeValue::Map(map) => {
                let whole = std::mem::take(map);
                let normalized = self.map(whole, tree.at, rule, refs, name);
                tree.value = TreeValue::Map(normalized);
            }
            TreeValue::List(list) => {
                let items = rule.items();
                for part in list {
                    match &items {
                        Some(items) => self.node(part, items, refs, name),
                        None => self.free(part, refs),
                    }
                }
            }
            TreeValue::Text(_) => self.text(tree, rule, name),
            TreeValue::Number(number) => {
                let number = number.clone();
                self.number(&number, tree.at, rule, name);
            }
            TreeValue::Null | TreeValue::Bool(_) => {}
        }
    }

    fn map(
        &mut self,
        map: TreeMap,
        at: TextPosition,
        rule: &SchemaRule,
        refs: RefTiming,
        name: &str,
    ) -> TreeMap {
        let mut normalized = TreeMap::new();
        let mut names: Vec<(String, String)> = vec![];
        for (key, mut entry) in map {
            let (right, inner) = match (rule.property(&key), rule.others()) {
                (Some((right, inner)), _) => (right.to_owned(), Some(inner)),
                (None, Some(inner)) if rule.word("x-kind") == Some("events") => {
                    match self.own_event(&key, &entry, rule, name) {
                        Some(event) => (event, inner),
                        None => continue,
                    }
                }
                (None, Some(inner)) => {
                    // Options of plugins are in camel case like all keys; names chosen by users stay unchanged.
                    let ours = rule.properties().is_some();
                    (if ours { camel_case(&key) } else { key.clone() }, inner)
                }
                (None, None) => {
                    self.unknown_key(&key, entry.key_at, rule, name);
                    continue;
                }
            };
            if let Some((_, first)) = names.iter().find(|(known, _)| *known == right) {
                self.mistake(
                    entry.key_at,
                    format!("`{first}` and `{key}` are the same key: remove one"),
                    None,
                );
                continue;
            }
            names.push((right.clone(), key));
            let named_by_people = rule.properties().is_none();
            if entry.tree.value == TreeValue::Null && inner.is_some() {
                // A key without a value is ignored. A project name without a value is a project.
                if !named_by_people {
                    continue;
                }
                entry.tree = ConfigTree::map(entry.key_at);
            }
            if rule.get("x-text").is_some() {
                as_text(&mut entry.tree);
            }
            match &inner {
                Some(inner) if rule.word("x-kind") == Some("tools") => {
                    self.tool(&mut entry.tree, inner, refs, &right);
                }
                Some(inner) => self.node(&mut entry.tree, inner, refs, &right),
                None => self.free(&mut entry.tree, refs),
            }
            normalized.insert(right, entry);
        }
        if self.context.is_some() {
            for missing in rule.required().filter(|key| !normalized.contains_key(*key)) {
                let hint = (missing == "plugin").then(|| {
                    format!("name its plugin, such as `{name}: {{ plugin: slack, webhookUrl: … }}`")
                });
                self.mistake(at, format!("`{missing}` is missing in `{name}`"), hint);
            }
        }
        normalized
    }

    /// Normalizes one of the user's own agents and collects its mistakes separately.
    fn tool(&mut self, tree: &mut ConfigTree, rule: &SchemaRule, refs: RefTiming, name: &str) {
        let before = self.found.mistakes.len();
        self.node(tree, rule, refs, &format!("tools.{name}"));
        let wrong = self.found.mistakes.split_off(before);
        if tree.as_map().is_none() {
            *tree = ConfigTree::map(tree.at);
        }
        self.found.tools.extend(wrong.into_iter().map(|mistake| (name.to_owned(), mistake)));
    }

    /// Returns the name of a custom event, if it is one: not nearly a built-in name, and with an action.
    fn own_event(&mut self, key: &str, entry: &TreeEntry, rule: &SchemaRule, name: &str) -> Option<String> {
        let properties = rule.properties().into_iter().flatten();
        let mut ours: Vec<&str> = vec![];
        for (kind, schema) in properties {
            ours.push(kind);
            let also = schema.get("x-also").and_then(serde_json::Value::as_array);
            ours.extend(also.into_iter().flatten().filter_map(serde_json::Value::as_str));
        }
        let near = ours
            .iter()
            .map(|kind| (strsim::damerau_levenshtein(&folded(key), &folded(kind)), *kind))
            .min_by_key(|(edits, _)| *edits)
            .filter(|(edits, _)| *edits <= 2)
            .map(|(_, kind)| kind)
            .and_then(|kind| rule.property(kind))
            .map(|(kind, _)| kind);
        let acts = entry.tree.as_map().is_some_and(|map| map.keys().any(|key| folded(key) == "action"));
        if near.is_none() && acts {
            let event = key.replace('_', "-");
            return match event.parse::<IncidentKind>() {
                Ok(_) => Some(event),
                Err(bad) => {
                    self.mistake(entry.key_at, bad.to_string(), None);
                    None
                }
            };
        }
        let likely = near.or_else(|| {
            let (kind, _) = rule.property(nearest(key, ours.iter().copied())?)?;
            Some(kind)
        });
        let own = if near.is_some() { "needs a name less like it, and" } else { "needs" };
        let hint = match likely {
            Some(kind) => format!("did you mean `{kind}`? a custom event {own} an `action`"),
            None => {
                let kinds = rule.properties().into_iter().flatten().map(|(kind, _)| kind.as_str());
                let mut kinds: Vec<&str> = kinds.collect();
                kinds.sort_by_key(|kind| kind_order(kind));
                format!("a custom event needs an `action`; known names: {}", kinds.join(", "))
            }
        };
        self.mistake(entry.key_at, format!("unknown key `{key}` in {}", quoted(name)), Some(hint));
        None
    }

    /// Expands references in a value that has no rule.
    fn free(&mut self, tree: &mut ConfigTree, refs: RefTiming) {
        if self.has_refs(tree, refs) {
            self.put_refs_in(tree, &SchemaRule::anything(), refs);
        }
        match &mut tree.value {
            TreeValue::List(list) => list.iter_mut().for_each(|part| self.free(part, refs)),
            TreeValue::Map(map) => map.values_mut().for_each(|entry| self.free(&mut entry.tree, refs)),
            _ => {}
        }
    }

    fn has_refs(&self, tree: &ConfigTree, refs: RefTiming) -> bool {
        refs != RefTiming::Never && tree.as_text().is_some_and(refs::has_refs)
    }

    /// Replaces references, or reports the reason if that fails. Returns `true` if the value is still unknown.
    fn put_refs_in(&mut self, tree: &mut ConfigTree, rule: &SchemaRule, refs: RefTiming) -> bool {
        let text = tree.as_text().expect("asked only of texts").to_owned();
        if let Err(err @ (RefError::Open | RefError::BadName(_))) = refs::parts(&text) {
            let hint = "write `$${` for a literal `${`".to_owned();
            self.mistake(tree.at, err.to_string(), Some(hint));
            return true;
        }
        let Some(context) = self.context else { return true };
        match context.env.expand(&text) {
            Ok(_) if refs == RefTiming::Late => true,
            Ok(value) => {
                let retyped = retype(&value, &rule.types());
                *tree = ConfigTree { value: retyped, at: tree.at, written: Some(text) };
                false
            }
            Err(err) => {
                let hint = match &err {
                    RefError::Missing(name) => {
                        Some(format!("set it, or write `${{{name}:-…}}` with a fallback"))
                    }
                    _ => None,
                };
                let mistake = ConfigMistake { at: tree.at, what: err.to_string(), hint };
                match refs {
                    RefTiming::Late => self.found.warnings.push(mistake),
                    _ => self.found.mistakes.push(mistake),
                }
                true
            }
        }
    }

    fn right_type(&mut self, tree: &ConfigTree, rule: &SchemaRule, name: &str) -> bool {
        let types = rule.types();
        let fits = |kind: &&str| match &tree.value {
            TreeValue::Null => false,
            TreeValue::Bool(_) => *kind == "boolean",
            TreeValue::Number(number) => *kind == "number" || *kind == "integer" && !number.is_f64(),
            TreeValue::Text(_) => *kind == "string",
            TreeValue::List(_) => *kind == "array",
            TreeValue::Map(_) => *kind == "object",
        };
        if types.is_empty() || types.iter().any(fits) {
            return true;
        }
        let wanted: Vec<&str> = types.iter().map(|kind| in_words(kind, rule)).collect();
        let plain = if rule.get("x-truth").is_some() { "`true`, `false` or " } else { "a string or " };
        let short = rule.word("x-short").map(|_| plain).unwrap_or_default();
        let what = format!("`{name}` has to be {short}{}, but is {}", wanted.join(" or "), tree.described());
        let unit = matches!((rule.word("x-kind"), &tree.value), (Some("time"), TreeValue::Number(_)));
        let hint = unit.then(|| "add a unit, such as `30s`, `15m` or `2h`".to_owned());
        self.mistake(tree.at, what, hint);
        false
    }

    fn text(&mut self, tree: &mut ConfigTree, rule: &SchemaRule, name: &str) {
        let text = tree.as_text().expect("asked only of texts").to_owned();
        let choices = rule.choices();
        if !choices.is_empty() {
            match rule.choice(&text) {
                Some(right) if right == text => {}
                Some(right) => tree.value = TreeValue::Text(right.to_owned()),
                None => self.unknown_word(tree, &choices, name),
            }
            return;
        }
        let wrong = match rule.word("x-kind") {
            Some("time") => text.parse::<TimeSpan>().err().map(|err| err.to_string()),
            Some("size") => text.parse::<ByteSize>().err().map(|err| err.to_string()),
            Some("address") => match text.parse::<std::net::IpAddr>() {
                Ok(_) => None,
                Err(_) if text == "localhost" => {
                    tree.value = TreeValue::Text("127.0.0.1".into());
                    None
                }
                Err(_) => Some(format!("`{text}` is not an IP address: write one such as `127.0.0.1`")),
            },
            Some("condition") => {
                if let Err(bad) = condition::check(&text) {
                    let what = tree.masked(format!("`{name}` is not a valid condition: {bad}"));
                    self.mistake(tree.at, what, Some(bad.hint()));
                }
                None
            }
            Some("template") => {
                if let Err(bad) = words::check(&text) {
                    let what = tree.masked(format!("`{name}` is not a valid template: {bad}"));
                    self.mistake(tree.at, what, condition::hint_for(&bad));
                }
                None
            }
            Some("regex") => {
                // The first lines draw the position, which every mistake shows anyway.
                let why = |err: regex::Error| {
                    let why = err.to_string();
                    let last = why.lines().last().unwrap_or(&why);
                    format!(
                        "`{name}` is not a valid regular expression: {}",
                        last.trim_start_matches("error: ")
                    )
                };
                regex::Regex::new(&text).err().map(why)
            }
            Some("path") => self.resolve_path(tree),
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.mistake(tree.at, tree.masked(wrong), None);
        }
    }

    /// Makes a path absolute. A relative one has no meaning outside of its file.
    fn resolve_path(&self, tree: &mut ConfigTree) -> Option<String> {
        let context = self.context?;
        let text = tree.as_text()?;
        let whole = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => match context.home {
                Some(home) => home.join(rest.trim_start_matches('/')),
                None => return Some("`~` cannot be expanded: HOME is not set".into()),
            },
            Some(_) => {
                return Some(format!("`{text}` is the home folder of another user: write the full path"));
            }
            None => context.folders.get(tree.at.file)?.join(text),
        };
        // A path is shown in full even if it was written with a reference.
        tree.written = None;
        tree.value = TreeValue::Text(normal(&whole).into_string());
        None
    }

    fn number(&mut self, number: &serde_json::Number, at: TextPosition, rule: &SchemaRule, name: &str) {
        let value = number.as_f64().unwrap_or_default();
        let widest = (rule.word("format") == Some("uint32")).then_some(f64::from(u32::MAX));
        let bound = |word| rule.get(word).and_then(serde_json::Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| value < *least) {
            self.mistake(at, format!("`{name}` has to be at least {least}, but is {number}"), None);
        } else if let Some(most) = bound("maximum").or(widest).filter(|most| value > *most) {
            self.mistake(at, format!("`{name}` can be at most {most}, but is {number}"), None);
        }
    }

    fn unknown_key(&mut self, key: &str, at: TextPosition, rule: &SchemaRule, name: &str) {
        let known = rule.properties().into_iter().flatten();
        let all: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
        // Keys that belong to `defaults` are often written at the top level.
        let default = rule.property("defaults").and_then(|(_, defaults)| defaults.property(key));
        let hint = match (default, nearest(key, all.iter().copied())) {
            (Some((near, _)), _) => format!("did you mean `{near}` in `defaults`?"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!("known here: {}", all.join(", ")),
        };
        self.mistake(at, format!("unknown key `{key}` in {}", quoted(name)), Some(hint));
    }

    fn unknown_word(&mut self, tree: &ConfigTree, choices: &[&str], name: &str) {
        let text = tree.as_text().unwrap_or_default();
        let hint = match nearest(text, choices.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", choices.join(", ")),
        };
        self.mistake(tree.at, tree.masked(format!("`{name}` cannot be `{text}`")), Some(hint));
    }

    fn mistake(&mut self, at: TextPosition, what: String, hint: Option<String>) {
        self.found.mistakes.push(ConfigMistake { at, what, hint });
    }
}

fn shorten_at(tree: &mut ConfigTree, rule: &SchemaRule) {
    match &mut tree.value {
        TreeValue::Map(map) => {
            for (key, entry) in map.iter_mut() {
                let inner = rule.property(key).map(|(_, inner)| inner).or_else(|| rule.others().flatten());
                if let Some(inner) = inner {
                    shorten_at(&mut entry.tree, &inner);
                }
            }
            if let Some(short) = rule.word("x-short")
                && map.len() == 1
                && let Some(entry) = map.swap_remove(short)
            {
                *tree = entry.tree;
            }
        }
        TreeValue::List(list) => {
            if let Some(items) = rule.items() {
                list.iter_mut().for_each(|part| shorten_at(part, &items));
            }
        }
        _ => {}
    }
}
