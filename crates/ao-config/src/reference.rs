//! The reference for users and the schema files that are checked in, generated from the types.

use std::fmt::Write;

use ao_core::incident::IncidentKind;
use ao_core::reaction::{Reaction, ReactionAction};
use serde_json::Value;

use crate::env_vars::{ENV_VARS, SetBy};
use crate::rule::{RefTiming, SchemaRule};

/// The top-level keys, in the order in which people read and write them.
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

/// Returns the files that are generated from this crate, by their path in the repository. `cargo xtask generate` writes
/// them.
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

/// Returns the reference of all keys as a page.
pub fn reference_markdown() -> String {
    let mut page = include_str!("reference.md.in").to_owned();
    let root = SchemaRule::root();
    page.push_str("\n## Every key\n\n");
    let keys: Vec<(String, SchemaRule)> = TOP
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

/// A key in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigKey {
    /// Its path, such as `projects.<name>.agent`: `<…>` is a name that the user chooses, `[]` each item of a list.
    pub path: String,
    /// A description of the values it takes.
    pub kind: String,
    /// The default, if there is one.
    pub default: Option<String>,
    /// Its description.
    pub text: String,
    /// An example of a value, if it is a scalar.
    pub example: Option<String>,
}

/// Returns all keys, in the order in which people read and write them.
pub fn keys() -> Vec<ConfigKey> {
    let root = SchemaRule::root();
    let mut keys = Vec::new();
    for (name, rule) in TOP.iter().filter_map(|name| root.property(name)) {
        key(name, &rule, &mut keys);
    }
    keys
}

fn key(path: &str, rule: &SchemaRule, keys: &mut Vec<ConfigKey>) {
    let text = rule.word("description").map(one_line).unwrap_or_default();
    let default = rule.get("default").map(default_text).filter(|text| !text.is_empty());
    keys.push(ConfigKey {
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
    // All kinds of incidents take the same fields, so these are listed once.
    inner.sort_by_key(|(name, _)| crate::shape::kind_order(name));
    for (name, rule) in &inner {
        let text = rule.word("description").map(one_line).unwrap_or_default();
        let default = name.parse::<DefaultAction>().ok().map(|kind| kind.0);
        keys.push(ConfigKey {
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

/// Returns an example of a value: the first choice, the default, or a typical value of its type.
fn example(rule: &SchemaRule) -> Option<String> {
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

/// A mapping with a section of its own. A type of mapping is described once, and other keys refer to it.
struct ReferenceSection {
    path: String,
    rule: SchemaRule,
    keys: Vec<(String, SchemaRule)>,
}

fn collect(path: &str, rule: &SchemaRule, sections: &mut Vec<ReferenceSection>) {
    let Some((path, rule)) = mapping_in(path, rule) else { return };
    // Reactions are described at the top level; those of a project refer to that section.
    let exception = rule.kind() == Some("Reactions") && path != "reactions";
    if exception || home_of(&rule, sections).is_some() {
        return;
    }
    let mut keys = rule.all_properties();
    if rule.kind() == Some("Reactions") {
        keys.sort_by_key(|(name, _)| crate::shape::kind_order(name));
    }
    sections.push(ReferenceSection { path: path.clone(), rule, keys: keys.clone() });
    for (name, inner) in &keys {
        let name = if path == "reactions" { "<kind>" } else { name };
        collect(&format!("{path}.{name}"), inner, sections);
    }
}

/// Returns the mapping at a path, or the one that each item of a list or of a mapping by name has.
fn mapping_in(path: &str, rule: &SchemaRule) -> Option<(String, SchemaRule)> {
    match (rule.properties(), rule.others().flatten(), rule.items()) {
        (None, Some(inner), _) if inner.properties().is_some() => Some((format!("{path}.<name>"), inner)),
        (None, _, Some(inner)) if inner.properties().is_some() => Some((format!("{path}[]"), inner)),
        (Some(_), _, _) => Some((path.to_owned(), rule.clone())),
        _ => None,
    }
}

fn home_of<'a>(rule: &SchemaRule, sections: &'a [ReferenceSection]) -> Option<&'a str> {
    let kind = rule.kind()?;
    sections.iter().find(|section| section.rule.kind() == Some(kind)).map(|section| section.path.as_str())
}

fn table(page: &mut String, path: &str, keys: &[(String, SchemaRule)], sections: &[ReferenceSection]) {
    page.push_str("| key | is | default | |\n|---|---|---|---|\n");
    for (name, rule) in keys {
        let default = match (path, name.parse::<DefaultAction>()) {
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

/// The default reaction to a kind of incident, as a text.
struct DefaultAction(String);

impl std::str::FromStr for DefaultAction {
    type Err = serde_json::Error;

    fn from_str(name: &str) -> Result<DefaultAction, serde_json::Error> {
        let kind: IncidentKind = serde_json::from_value(name.into())?;
        let reaction = Reaction::default_for(&kind);
        let action = serde_json::to_value(reaction.action)?;
        let action = action.as_str().unwrap_or_default();
        Ok(DefaultAction(match (reaction.auto, reaction.action) {
            (false, _) => format!("a notice; `{action}` if `auto`"),
            (true, ReactionAction::SendToAgent) => format!("`{action}`, {} times", reaction.attempts),
            (true, _) => format!("`{action}`"),
        }))
    }
}

fn kind_of(rule: &SchemaRule) -> String {
    let choices = rule.choices();
    if !choices.is_empty() {
        let words: Vec<String> = choices.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    if let Some(short) = rule.word("x-short") {
        return match rule.get("x-truth") {
            Some(_) => "`true`, `false` or mapping".into(),
            None => format!("string, or mapping with `{short}`"),
        };
    }
    let types = rule.types();
    let words: Vec<String> = types
        .iter()
        .map(|kind| match (*kind, rule.word("x-kind")) {
            ("string", Some(kind)) => kind.to_owned(),
            ("string", _) => "string".into(),
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

fn notes(rule: &SchemaRule) -> String {
    let mut notes = String::new();
    if let Some(also) = rule.get("x-also").and_then(Value::as_array) {
        let names: Vec<String> =
            also.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        let _ = write!(notes, " Also called {}.", names.join(", "));
    }
    if rule.refs() == Some(RefTiming::Never) {
        notes.push_str(" `${…}` is not replaced.");
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
        // A value of white space only would be invisible without quotes.
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
