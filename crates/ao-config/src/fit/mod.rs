//! Fits a tree to the schema: right names for keys and words, whole mappings for short forms, and a list of everything
//! that does not fit, each at its place.
//!
//! A layer is fitted before it is laid over others, so that both call the same thing by the same name. The whole is
//! fitted again with the environment at hand, and only then something can be missing.

mod values;

use camino::{Utf8Path, Utf8PathBuf};

use self::values::{as_text, camel_case, in_words, normal, quoted, retype};

use ao_core::incident::IncidentKind;
use ao_core::reaction::words;

use crate::condition;
use crate::names::{folded, nearest};
use crate::refs::{self, Env, RefError};
use crate::rule::{Refs, Rule};
use crate::shape::kind_order;
use crate::shape::units::{Size, Time};
use crate::tree::{At, Entry, Map, Tree, Value};

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) at: At,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

/// What the whole is fitted with.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    pub(crate) env: &'a Env,
    pub(crate) home: Option<&'a Utf8Path>,
    /// The folder of each file, by its number.
    pub(crate) folders: Vec<Utf8PathBuf>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) misfits: Vec<Misfit>,
    /// What is missing only if it is used.
    pub(crate) warnings: Vec<Misfit>,
    /// What is wrong with agents of the user's own, by their name. It stops neither the configuration nor other agents.
    pub(crate) tools: Vec<(String, Misfit)>,
}

pub(crate) fn fit_layer(tree: &mut Tree) -> Found {
    fit(tree, None)
}

pub(crate) fn fit_whole(tree: &mut Tree, around: &Around<'_>) -> Found {
    fit(tree, Some(around))
}

/// Fits a file that is no configuration to a rule of its own.
pub(crate) fn fit_as(tree: &mut Tree, rule: &Rule, name: &str, around: &Around<'_>) -> Found {
    let mut fitting = Fitting { around: Some(around), found: Found::default() };
    fitting.node(tree, rule, Refs::Never, name);
    fitting.found
}

/// Brings what has a short form back to it, for people to read.
pub(crate) fn shorten(tree: &mut Tree) {
    shorten_at(tree, &Rule::root());
}

fn fit(tree: &mut Tree, around: Option<&Around<'_>>) -> Found {
    let mut fitting = Fitting { around, found: Found::default() };
    fitting.node(tree, &Rule::root(), Refs::Now, "the configuration");
    fitting.found
}

struct Fitting<'a> {
    /// Absent while a layer is fitted by itself.
    around: Option<&'a Around<'a>>,
    found: Found,
}

impl Fitting<'_> {
    fn node(&mut self, tree: &mut Tree, rule: &Rule, refs: Refs, name: &str) {
        let refs = rule.refs().unwrap_or(refs);
        if rule.get("x-one").is_some() && !matches!(tree.value, Value::List(_) | Value::Null) {
            let at = tree.at;
            let one = std::mem::replace(tree, Tree::map(at));
            tree.value = Value::List(vec![one]);
        }
        if let (Some(key), Value::Text(_) | Value::Number(_) | Value::Bool(_)) =
            (rule.word("x-short"), &tree.value)
        {
            let at = tree.at;
            let short = std::mem::replace(tree, Tree::map(at));
            let entry = Entry { key_at: at, tree: short };
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
            Value::Map(map) => {
                let whole = std::mem::take(map);
                let fitted = self.map(whole, tree.at, rule, refs, name);
                tree.value = Value::Map(fitted);
            }
            Value::List(list) => {
                let items = rule.items();
                for part in list {
                    match &items {
                        Some(items) => self.node(part, items, refs, name),
                        None => self.free(part, refs),
                    }
                }
            }
            Value::Text(_) => self.text(tree, rule, name),
            Value::Number(number) => {
                let number = number.clone();
                self.number(&number, tree.at, rule, name);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn map(&mut self, map: Map, at: At, rule: &Rule, refs: Refs, name: &str) -> Map {
        let mut fitted = Map::new();
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
                    // Options of plugins have names as all others have; names that people give stay as they are.
                    let ours = rule.properties().is_some();
                    (if ours { camel_case(&key) } else { key.clone() }, inner)
                }
                (None, None) => {
                    self.unknown_key(&key, entry.key_at, rule, name);
                    continue;
                }
            };
            if let Some((_, first)) = names.iter().find(|(known, _)| *known == right) {
                self.misfit(entry.key_at, format!("`{first}` and `{key}` are the same: leave one out"), None);
                continue;
            }
            names.push((right.clone(), key));
            let named_by_people = rule.properties().is_none();
            if entry.tree.value == Value::Null && inner.is_some() {
                // A key with nothing behind it says nothing. A project with nothing behind its name is one.
                if !named_by_people {
                    continue;
                }
                entry.tree = Tree::map(entry.key_at);
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
            fitted.insert(right, entry);
        }
        if self.around.is_some() {
            for missing in rule.required().filter(|key| !fitted.contains_key(*key)) {
                let hint = (missing == "plugin").then(|| {
                    format!("say which plugin it is, such as `{name}: {{ plugin: slack, webhookUrl: … }}`")
                });
                self.misfit(at, format!("`{missing}` is missing in `{name}`"), hint);
            }
        }
        fitted
    }

    /// Fits an agent of the user's own, and keeps apart what is wrong with it.
    fn tool(&mut self, tree: &mut Tree, rule: &Rule, refs: Refs, name: &str) {
        let before = self.found.misfits.len();
        self.node(tree, rule, refs, &format!("tools.{name}"));
        let wrong = self.found.misfits.split_off(before);
        if tree.as_map().is_none() {
            *tree = Tree::map(tree.at);
        }
        self.found.tools.extend(wrong.into_iter().map(|misfit| (name.to_owned(), misfit)));
    }

    /// The name of an event of the user's own, if it is one: nothing that is nearly one of ours, and with an action.
    fn own_event(&mut self, key: &str, entry: &Entry, rule: &Rule, name: &str) -> Option<String> {
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
                    self.misfit(entry.key_at, bad.to_string(), None);
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
            Some(kind) => format!("did you mean `{kind}`? an event of your own {own} an `action`"),
            None => {
                let kinds = rule.properties().into_iter().flatten().map(|(kind, _)| kind.as_str());
                let mut kinds: Vec<&str> = kinds.collect();
                kinds.sort_by_key(|kind| kind_order(kind));
                format!("an event of your own needs an `action`; known are: {}", kinds.join(", "))
            }
        };
        self.misfit(entry.key_at, format!("unknown key `{key}` in {}", quoted(name)), Some(hint));
        None
    }

    /// What nobody here has a rule for; only its references are looked at.
    fn free(&mut self, tree: &mut Tree, refs: Refs) {
        if self.has_refs(tree, refs) {
            self.put_refs_in(tree, &Rule::anything(), refs);
        }
        match &mut tree.value {
            Value::List(list) => list.iter_mut().for_each(|part| self.free(part, refs)),
            Value::Map(map) => map.values_mut().for_each(|entry| self.free(&mut entry.tree, refs)),
            _ => {}
        }
    }

    fn has_refs(&self, tree: &Tree, refs: Refs) -> bool {
        refs != Refs::Never && tree.as_text().is_some_and(refs::has_refs)
    }

    /// Replaces references, or says why they cannot be. Returns whether the value is still not known.
    fn put_refs_in(&mut self, tree: &mut Tree, rule: &Rule, refs: Refs) -> bool {
        let text = tree.as_text().expect("asked only of texts").to_owned();
        if let Err(err @ (RefError::Open | RefError::BadName(_))) = refs::parts(&text) {
            let hint = "write `$${` for a `${` that is no reference".to_owned();
            self.misfit(tree.at, err.to_string(), Some(hint));
            return true;
        }
        let Some(around) = self.around else { return true };
        match around.env.expand(&text) {
            Ok(_) if refs == Refs::Late => true,
            Ok(value) => {
                let retyped = retype(&value, &rule.types());
                *tree = Tree { value: retyped, at: tree.at, written: Some(text) };
                false
            }
            Err(err) => {
                let hint = match &err {
                    RefError::Missing(name) => {
                        Some(format!("set it, or write `${{{name}:-…}}` with what else to use"))
                    }
                    _ => None,
                };
                let misfit = Misfit { at: tree.at, what: err.to_string(), hint };
                match refs {
                    Refs::Late => self.found.warnings.push(misfit),
                    _ => self.found.misfits.push(misfit),
                }
                true
            }
        }
    }

    fn right_type(&mut self, tree: &Tree, rule: &Rule, name: &str) -> bool {
        let types = rule.types();
        let fits = |kind: &&str| match &tree.value {
            Value::Null => false,
            Value::Bool(_) => *kind == "boolean",
            Value::Number(number) => *kind == "number" || *kind == "integer" && !number.is_f64(),
            Value::Text(_) => *kind == "string",
            Value::List(_) => *kind == "array",
            Value::Map(_) => *kind == "object",
        };
        if types.is_empty() || types.iter().any(fits) {
            return true;
        }
        let wanted: Vec<&str> = types.iter().map(|kind| in_words(kind, rule)).collect();
        let plain = if rule.get("x-truth").is_some() { "`true`, `false` or " } else { "a text or " };
        let short = rule.word("x-short").map(|_| plain).unwrap_or_default();
        let what = format!("`{name}` has to be {short}{}, and is {}", wanted.join(" or "), tree.described());
        let unit = matches!((rule.word("x-kind"), &tree.value), (Some("time"), Value::Number(_)));
        let hint = unit.then(|| "add a unit, such as `30s`, `15m` or `2h`".to_owned());
        self.misfit(tree.at, what, hint);
        false
    }

    fn text(&mut self, tree: &mut Tree, rule: &Rule, name: &str) {
        let text = tree.as_text().expect("asked only of texts").to_owned();
        let choices = rule.choices();
        if !choices.is_empty() {
            match rule.choice(&text) {
                Some(right) if right == text => {}
                Some(right) => tree.value = Value::Text(right.to_owned()),
                None => self.unknown_word(tree, &choices, name),
            }
            return;
        }
        let wrong = match rule.word("x-kind") {
            Some("time") => text.parse::<Time>().err().map(|err| err.to_string()),
            Some("size") => text.parse::<Size>().err().map(|err| err.to_string()),
            Some("address") => match text.parse::<std::net::IpAddr>() {
                Ok(_) => None,
                Err(_) if text == "localhost" => {
                    tree.value = Value::Text("127.0.0.1".into());
                    None
                }
                Err(_) => Some(format!("`{text}` is no address: write one such as `127.0.0.1`")),
            },
            Some("condition") => {
                if let Err(bad) = condition::check(&text) {
                    let what = tree.veiled(format!("`{name}` cannot be judged: {bad}"));
                    self.misfit(tree.at, what, Some(bad.hint()));
                }
                None
            }
            Some("template") => {
                if let Err(bad) = words::check(&text) {
                    let what = tree.veiled(format!("`{name}` cannot be filled in: {bad}"));
                    self.misfit(tree.at, what, condition::hint_for(&bad));
                }
                None
            }
            Some("regex") => {
                // Its first lines draw the place, which is shown here for every mistake.
                let why = |err: regex::Error| {
                    let why = err.to_string();
                    let last = why.lines().last().unwrap_or(&why);
                    format!("`{name}` is no regular expression: {}", last.trim_start_matches("error: "))
                };
                regex::Regex::new(&text).err().map(why)
            }
            Some("path") => self.resolve_path(tree),
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.misfit(tree.at, tree.veiled(wrong), None);
        }
    }

    /// Makes a path whole. Nobody can tell what a relative one means once it has left its file.
    fn resolve_path(&self, tree: &mut Tree) -> Option<String> {
        let around = self.around?;
        let text = tree.as_text()?;
        let whole = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => match around.home {
                Some(home) => home.join(rest.trim_start_matches('/')),
                None => return Some("it is not known what `~` stands for: HOME is not set".into()),
            },
            Some(_) => {
                return Some(format!("`{text}` is another person's home folder: write the whole path"));
            }
            None => around.folders.get(tree.at.file)?.join(text),
        };
        // A path is shown whole, even if it was written with a reference.
        tree.written = None;
        tree.value = Value::Text(normal(&whole).into_string());
        None
    }

    fn number(&mut self, number: &serde_json::Number, at: At, rule: &Rule, name: &str) {
        let value = number.as_f64().unwrap_or_default();
        let widest = (rule.word("format") == Some("uint32")).then_some(f64::from(u32::MAX));
        let bound = |word| rule.get(word).and_then(serde_json::Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| value < *least) {
            self.misfit(at, format!("`{name}` has to be at least {least}, and is {number}"), None);
        } else if let Some(most) = bound("maximum").or(widest).filter(|most| value > *most) {
            self.misfit(at, format!("`{name}` can be at most {most}, and is {number}"), None);
        }
    }

    fn unknown_key(&mut self, key: &str, at: At, rule: &Rule, name: &str) {
        let known = rule.properties().into_iter().flatten();
        let all: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
        // What holds for all projects is easily taken for a matter of the top.
        let default = rule.property("defaults").and_then(|(_, defaults)| defaults.property(key));
        let hint = match (default, nearest(key, all.iter().copied())) {
            (Some((near, _)), _) => format!("did you mean `{near}` in `defaults`?"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!("known here: {}", all.join(", ")),
        };
        self.misfit(at, format!("unknown key `{key}` in {}", quoted(name)), Some(hint));
    }

    fn unknown_word(&mut self, tree: &Tree, choices: &[&str], name: &str) {
        let text = tree.as_text().unwrap_or_default();
        let hint = match nearest(text, choices.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", choices.join(", ")),
        };
        self.misfit(tree.at, tree.veiled(format!("`{name}` cannot be `{text}`")), Some(hint));
    }

    fn misfit(&mut self, at: At, what: String, hint: Option<String>) {
        self.found.misfits.push(Misfit { at, what, hint });
    }
}

fn shorten_at(tree: &mut Tree, rule: &Rule) {
    match &mut tree.value {
        Value::Map(map) => {
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
        Value::List(list) => {
            if let Some(items) = rule.items() {
                list.iter_mut().for_each(|part| shorten_at(part, &items));
            }
        }
        _ => {}
    }
}
