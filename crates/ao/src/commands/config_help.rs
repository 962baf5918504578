//! `ao config-help`: describes the configuration keys, from the types that parse them.

use std::io;

use ao_config::{ConfigKey, names};
use serde_json::{Value, json};

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};
use crate::ui;

/// Describe the configuration keys
///
/// Without a key, lists all of them. With a key, shows its description, its default and the keys below it. With
/// another text, lists the keys that match it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config-help
  ao config-help defaults.runtime
  ao config-help projects.my-app
  ao config-help budget                all keys that have to do with budgets")]
pub(crate) struct Args {
    /// A key, or a text to search for
    #[arg(add = completers::config_keys())]
    key: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let keys = ao_config::keys();
    let Some(wanted) = args.key.as_deref() else { return list(&keys.iter().collect::<Vec<_>>(), cx) };
    if let Some(key) = keys.iter().find(|key| leads_to(&key.path, wanted)) {
        let below: Vec<&ConfigKey> = keys.iter().filter(|other| is_below(&other.path, &key.path)).collect();
        return one(key, &below, wanted, cx);
    }
    let word = wanted.to_lowercase();
    let about =
        |key: &&ConfigKey| key.path.to_lowercase().contains(&word) || key.text.to_lowercase().contains(&word);
    let found: Vec<&ConfigKey> = keys.iter().filter(about).collect();
    if found.is_empty() {
        return Err(unknown(wanted, &keys));
    }
    list(&found, cx)
}

/// Returns true if a typed path is that key, with any name where the key has `<name>`.
fn leads_to(path: &str, wanted: &str) -> bool {
    let (parts, typed): (Vec<&str>, Vec<&str>) = (path.split('.').collect(), wanted.split('.').collect());
    let same = |part: &str, typed: &str| {
        let part = part.trim_end_matches("[]");
        // `$schema` and `schema` are the same; a list is typed with or without its brackets.
        let typed = typed.trim_end_matches("[]");
        (part.starts_with('<') && !typed.is_empty()) || names::folded(part) == names::folded(typed)
    };
    parts.len() == typed.len() && parts.iter().zip(typed).all(|(part, typed)| same(part, typed))
}

/// Returns true if a key is directly below another, such as `projects.<name>.agent` below `projects`.
fn is_below(path: &str, parent: &str) -> bool {
    let Some(rest) = path.strip_prefix(parent) else { return false };
    let rest = rest.strip_prefix("[]").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix('.') else { return false };
    let rest = rest.strip_prefix("<name>.").unwrap_or(rest);
    !rest.contains('.') && !rest.is_empty()
}

fn list(keys: &[&ConfigKey], cx: &Context) -> Result<(), CommandError> {
    cx.print(&json!({ "keys": keys.iter().map(|key| shown(key)).collect::<Vec<_>>() }), || {
        for key in keys {
            brief(key)?;
        }
        Ok(())
    })
}

fn one(key: &ConfigKey, below: &[&ConfigKey], wanted: &str, cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        let keys: Vec<Value> = std::iter::once(&key).chain(below).map(|key| shown(key)).collect();
        return Ok(ui::json(&json!({ "keys": keys }))?);
    }
    brief(key)?;
    let lists = key.path.contains("[]");
    if let Some(example) = key.example.as_ref().filter(|_| !lists) {
        ui::line("")?;
        ui::line("Example:")?;
        ui::line(format_args!("  ao config set {wanted} {example}"))?;
    }
    if !below.is_empty() {
        ui::line("")?;
        ui::line("Keys below it:")?;
        for key in below {
            ui::line("")?;
            brief(key)?;
        }
    }
    Ok(())
}

/// Prints a key in a few lines.
fn brief(key: &ConfigKey) -> io::Result<()> {
    let title = ui::TITLE;
    let default = key.default.as_ref().map(|text| format!(", by default {text}")).unwrap_or_default();
    ui::line(format_args!("{title}{}{title:#}", key.path))?;
    ui::line(format_args!("    {}{default}", key.kind))?;
    if !key.text.is_empty() {
        ui::line(format_args!("    {}", key.text))?;
    }
    Ok(())
}

fn shown(key: &ConfigKey) -> Value {
    json!({ "key": key.path, "is": key.kind, "default": key.default, "text": key.text, "example": key.example })
}

fn unknown(wanted: &str, keys: &[ConfigKey]) -> CommandError {
    let last = wanted.rsplit('.').next().unwrap_or(wanted);
    let by_path = names::nearest(wanted, keys.iter().map(|key| key.path.as_str()));
    // A key in the wrong place is found by its last part.
    let by_name = || {
        let name = names::nearest(last, keys.iter().filter_map(|key| key.path.rsplit('.').next()))?;
        keys.iter().map(|key| key.path.as_str()).find(|path| path.rsplit('.').next() == Some(name))
    };
    let meant = by_path.or_else(by_name).map(|meant| format!("; did you mean `{meant}`?"));
    CommandError::new(
        FailureKind::UnknownKey,
        format!("there is no key `{wanted}`{}", meant.unwrap_or_default()),
    )
    .hint("`ao config-help` lists all keys")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ones_own_are_understood() {
        for (path, typed, is) in [
            ("defaults.runtime", "defaults.runtime", true),
            ("defaults.runtime", "Defaults.Runtime", true),
            ("projects.<name>.agent", "projects.my-app.agent", true),
            ("projects.<name>.agent", "projects.agent", false),
            ("agents[].tool", "agents.tool", true),
            ("tools.<name>.firstLaunch", "tools.mine.first_launch", true),
            ("defaults", "defaults.runtime", false),
        ] {
            assert_eq!(leads_to(path, typed), is, "{typed}");
        }
    }

    #[test]
    fn what_stands_below_a_key_is_told_with_it() {
        assert!(is_below("defaults.runtime", "defaults"));
        assert!(is_below("projects.<name>.agent", "projects"));
        assert!(is_below("agents[].tool", "agents"));
        assert!(!is_below("projects.<name>.env.pass", "projects"));
        assert!(!is_below("defaults", "defaults"));
    }
}
