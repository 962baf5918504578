//! The reference for users, made from the same types as everything else, and the files that are checked in.

use std::fmt::Write;

use ao_core::incident::IncidentKind;
use ao_core::reaction::{Action, Reaction};
use serde_json::Value;

use crate::env_vars::{ENV_VARS, SetBy};
use crate::rule::{Refs, Rule};

/// The keys of the top, in the order in which people read and write them.
pub(crate) const TOP: [&str; 20] = [
    "$schema",
    "port",
    "defaults",
    "projects",
    "reactions",
    "agentReactions",
    "hooks",
    "notifiers",
    "notificationRouting",
    "quietHours",
    "digest",
    "agents",
    "orchestrator",
    "tools",
    "plugins",
    "lifecycle",
    "dailyBudget",
    "dashboard",
    "server",
    "power",
];

/// The files that are made from this crate, by their path in the repository. `cargo xtask generate` writes them.
pub fn generated() -> Vec<(&'static str, String)> {
    let schema = serde_json::to_string_pretty(&crate::schema()).expect("a schema can be written");
    let pretty = |schema| serde_json::to_string_pretty(&schema).expect("a schema can be written") + "\n";
    vec![
        ("docs/config.schema.json", schema + "\n"),
        ("docs/policy.schema.json", pretty(crate::policy_schema())),
        ("docs/policy.test.schema.json", pretty(crate::policy_cases_schema())),
        ("docs/configuration.md", reference_markdown()),
    ]
}

/// Everything that can be configured, for people to read.
pub fn reference_markdown() -> String {
    let mut page = include_str!("reference.md.in").to_owned();
    let root = Rule::root();
    page.push_str("\n## Every key\n\n");
    let keys: Vec<(String, Rule)> = TOP
        .iter()
        .filter_map(|name| root.property(name))
        .map(|(name, rule)| (name.to_owned(), rule))
        .collect();
    let mut sections = Vec::new();
    for (name, rule) in &keys {
        collect(name, rule, &mut sections);
    }
    table(&mut page, "", &keys, &sections);
    for section in &sections {
        let _ = write!(page, "\n### `{}`\n\n", section.path);
        if let Some(text) = section.rule.description_of_kind() {
            let _ = write!(page, "{}\n\n", one_line(text));
        }
        table(&mut page, &section.path, &section.keys, &sections);
    }
    environment(&mut page);
    page
}

/// A key, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Where it stands, such as `projects.<name>.agent`: a part in `<…>` is a name of one's own, `[]` is each of a list.
    pub path: String,
    /// What may stand there, in words.
    pub kind: String,
    /// What holds without it; absent if that is nothing.
    pub default: Option<String>,
    /// What it does.
    pub text: String,
    /// Something that may stand there, if it is one plain value.
    pub example: Option<String>,
}

/// Every key, in the order in which people read and write them.
pub fn keys() -> Vec<Key> {
    let root = Rule::root();
    let mut keys = Vec::new();
    for (name, rule) in TOP.iter().filter_map(|name| root.property(name)) {
        key(name, &rule, &mut keys);
    }
    keys
}

fn key(path: &str, rule: &Rule, keys: &mut Vec<Key>) {
    let text = rule.word("description").map(one_line).unwrap_or_default();
    let default = rule.get("default").map(default_text).filter(|text| !text.is_empty());
    keys.push(Key {
        path: path.to_owned(),
        kind: kind_of(rule),
        default: default.map(|text| text.trim_matches('`').to_owned()),
        text: text + &notes(rule),
        example: example(rule),
    });
    let Some((inside, rule)) = mapping_in(path, rule) else { return };
    let mut inner = rule.all_properties();
    if rule.kind() != Some("Reactions") {
        for (name, rule) in &inner {
            key(&format!("{inside}.{name}"), rule, keys);
        }
        return;
    }
    // What can be said of one kind of thing that happens can be said of each.
    inner.sort_by_key(|(name, _)| crate::shape::kind_order(name));
    for (name, rule) in &inner {
        let text = rule.word("description").map(one_line).unwrap_or_default();
        let default = name.parse::<Kind>().ok().map(|kind| kind.0);
        keys.push(Key {
            path: format!("{inside}.{name}"),
            kind: kind_of(rule),
            default,
            text,
            example: None,
        });
    }
    if let Some((_, rule)) = inner.first().and_then(|(_, rule)| mapping_in("", rule)) {
        for (name, rule) in rule.all_properties() {
            key(&format!("{inside}.<kind>.{name}"), &rule, keys);
        }
    }
}

/// Something that may stand there: what does by default, or else what one would try.
fn example(rule: &Rule) -> Option<String> {
    if let Some(choice) = rule.choices().first() {
        return Some((*choice).to_owned());
    }
    match rule.get("default") {
        Some(Value::String(text)) if !text.trim().is_empty() => return Some(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => return Some(value.to_string()),
        Some(Value::Object(map)) if map.len() == 1 => {
            return map.get("plugin").and_then(Value::as_str).map(str::to_owned);
        }
        _ => {}
    }
    let types = rule.types();
    match (types.first().copied()?, rule.word("x-kind")) {
        ("string", Some("time")) => Some("30m".into()),
        ("string", Some("size")) => Some("2GB".into()),
        ("integer" | "number", _) => Some("3".into()),
        ("boolean", _) => Some("true".into()),
        _ => None,
    }
}

/// One mapping that is told of. A kind of mapping is told of once, and others refer to it.
struct Section {
    path: String,
    rule: Rule,
    keys: Vec<(String, Rule)>,
}

fn collect(path: &str, rule: &Rule, sections: &mut Vec<Section>) {
    let Some((path, rule)) = mapping_in(path, rule) else { return };
    // What is done when something happens is a matter of the top, and of a project only by way of exception.
    let exception = rule.kind() == Some("Reactions") && path != "reactions";
    if exception || home_of(&rule, sections).is_some() {
        return;
    }
    let mut keys = rule.all_properties();
    if rule.kind() == Some("Reactions") {
        keys.sort_by_key(|(name, _)| crate::shape::kind_order(name));
    }
    sections.push(Section { path: path.clone(), rule, keys: keys.clone() });
    for (name, inner) in &keys {
        let name = if path == "reactions" { "<kind>" } else { name };
        collect(&format!("{path}.{name}"), inner, sections);
    }
}

/// The mapping that stands at a place, or that each of those has which stand there.
fn mapping_in(path: &str, rule: &Rule) -> Option<(String, Rule)> {
    match (rule.properties(), rule.others().flatten(), rule.items()) {
        (None, Some(inner), _) if inner.properties().is_some() => Some((format!("{path}.<name>"), inner)),
        (None, _, Some(inner)) if inner.properties().is_some() => Some((format!("{path}[]"), inner)),
        (Some(_), _, _) => Some((path.to_owned(), rule.clone())),
        _ => None,
    }
}

fn home_of<'a>(rule: &Rule, sections: &'a [Section]) -> Option<&'a str> {
    let kind = rule.kind()?;
    sections.iter().find(|section| section.rule.kind() == Some(kind)).map(|section| section.path.as_str())
}

fn table(page: &mut String, path: &str, keys: &[(String, Rule)], sections: &[Section]) {
    page.push_str("| key | is | default | |\n|---|---|---|---|\n");
    for (name, rule) in keys {
        let default = match (path, name.parse::<Kind>()) {
            ("reactions", Ok(kind)) => kind.0,
            _ => rule.get("default").map(default_text).unwrap_or_default(),
        };
        let text = rule.word("description").map(one_line).unwrap_or_default();
        let own = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let home = mapping_in(&own, rule).and_then(|(own, rule)| Some((own, home_of(&rule, sections)?)));
        let like = match home {
            Some((own, home)) if own != home && path != "reactions" => format!(", as `{home}`"),
            _ => String::new(),
        };
        let _ = writeln!(page, "| `{name}` | {}{like} | {default} | {text}{} |", kind_of(rule), notes(rule));
    }
}

/// What is done by default about a kind of thing that happens, in words.
struct Kind(String);

impl std::str::FromStr for Kind {
    type Err = serde_json::Error;

    fn from_str(name: &str) -> Result<Kind, serde_json::Error> {
        let kind: IncidentKind = serde_json::from_value(name.into())?;
        let reaction = Reaction::default_for(&kind);
        let action = serde_json::to_value(reaction.action)?;
        let action = action.as_str().unwrap_or_default();
        Ok(Kind(match (reaction.auto, reaction.action) {
            (false, _) => format!("you are told; `{action}` if `auto`"),
            (true, Action::SendToAgent) => format!("`{action}`, {} times", reaction.attempts),
            (true, _) => format!("`{action}`"),
        }))
    }
}

fn kind_of(rule: &Rule) -> String {
    let choices = rule.choices();
    if !choices.is_empty() {
        let words: Vec<String> = choices.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    if let Some(short) = rule.word("x-short") {
        return match rule.get("x-truth") {
            Some(_) => "`true`, `false` or mapping".into(),
            None => format!("text, or mapping with `{short}`"),
        };
    }
    let types = rule.types();
    let words: Vec<String> = types
        .iter()
        .map(|kind| match (*kind, rule.word("x-kind")) {
            ("string", Some(kind)) => kind.to_owned(),
            ("string", _) => "text".into(),
            ("integer", _) => "whole number".into(),
            ("boolean", _) => "`true` or `false`".into(),
            ("object", _) => match rule.others().flatten() {
                Some(_) if rule.properties().is_none() => "mapping by name".into(),
                _ => "mapping".into(),
            },
            ("array", _) => "list".into(),
            (other, _) => other.into(),
        })
        .collect();
    words.join(" or ")
}

fn notes(rule: &Rule) -> String {
    let mut notes = String::new();
    if let Some(also) = rule.get("x-also").and_then(Value::as_array) {
        let names: Vec<String> =
            also.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        let _ = write!(notes, " Also called {}.", names.join(", "));
    }
    if rule.refs() == Some(Refs::Never) {
        notes.push_str(" `${…}` is left as it is.");
    }
    notes
}

fn default_text(default: &Value) -> String {
    match default {
        Value::Null => String::new(),
        Value::Object(map) => match map.get("plugin").and_then(Value::as_str) {
            Some(plugin) if map.len() == 1 => format!("`{plugin}`"),
            _ => String::new(),
        },
        Value::Array(list) if list.is_empty() => String::new(),
        Value::String(text) if text.is_empty() => String::new(),
        // A key or a space would not be seen.
        Value::String(text) if text.trim().is_empty() => format!("`{default}`"),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

fn environment(page: &mut String) {
    page.push_str("\n## Environment variables\n\n| variable | |\n|---|---|\n");
    for variable in ENV_VARS {
        let by = if variable.by == SetBy::Ao { "set by `ao`, " } else { "" };
        let _ = writeln!(page, "| `{}` | {by}{} |", variable.name, variable.doc);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
