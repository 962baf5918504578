//! The list of all keys, compared with the types that configurations are read into.

use std::collections::BTreeSet;

use ao_config::Config;
use serde_json::{Value, json};

/// One step from a mapping to its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    /// A name that the user chooses.
    Name,
    /// Each item of a list.
    Each,
}

/// The name used for those that users choose. Every mapping by name has to accept it.
const NAME: &str = "ci-failed";

/// Returns the keys of the type after some steps, as serde reports them.
fn read_at(steps: &[Step<'_>]) -> Option<Vec<String>> {
    let document = steps.iter().rev().fold(json!({ "no such key": 0 }), |inner, step| match step {
        Step::Key(key) => json!({ *key: inner }),
        Step::Name => json!({ NAME: inner }),
        Step::Each => json!([inner]),
    });
    let error = serde_json::from_value::<Config>(document).err()?.to_string();
    let expected = error.strip_prefix("unknown field `no such key`, expected ")?;
    Some(expected.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

/// Walks the types from a mapping downwards, and collects the paths of all keys.
fn walk(path: &str, steps: &[Step<'_>], found: &mut BTreeSet<String>) {
    let holders: [(&str, &[Step<'_>]); 3] = [("", &[]), (".<name>", &[Step::Name]), ("[]", &[Step::Each])];
    for (holder, inner) in holders {
        let steps = [steps, inner].concat();
        let Some(keys) = read_at(&steps) else { continue };
        let inside = format!("{path}{holder}");
        for key in &keys {
            let path = if inside.is_empty() { key.clone() } else { format!("{inside}.{key}") };
            found.insert(path.clone());
            walk(&path, &[&steps[..], &[Step::Key(key)]].concat(), found);
        }
        return;
    }
}

#[test]
fn every_key_that_is_read_is_listed() {
    let mut read = BTreeSet::new();
    walk("", &[], &mut read);
    assert!(read.len() > 200, "the types were not walked: {}", read.len());
    let listed: BTreeSet<String> = ao_config::keys().into_iter().map(|key| key.path).collect();
    // Reactions are a mapping by kind, which the list shows with all kinds and `<kind>`.
    let kind = |path: &str| {
        let parts: Vec<&str> = path.split('.').collect();
        let reactions = parts.iter().position(|part| *part == "reactions" || *part == "agentReactions");
        let named = reactions.is_some_and(|n| parts[n] == "agentReactions");
        reactions.map_or_else(
            || path.to_owned(),
            |n| {
                let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
                let kind = if named { n + 2 } else { n + 1 };
                if let Some(part) = parts.get_mut(kind).filter(|part| *part == "<name>") {
                    *part = "<kind>".into();
                }
                parts.join(".")
            },
        )
    };
    let missing: Vec<String> =
        read.iter().map(|path| kind(path)).filter(|path| !listed.contains(path)).collect();
    assert!(missing.is_empty(), "`ao config-help` does not list {missing:#?}");
}

#[test]
fn every_key_of_the_schema_is_listed_and_in_the_reference() {
    let page = ao_config::reference_markdown();
    let listed: BTreeSet<String> = ao_config::keys().into_iter().map(|key| key.path).collect();
    let schema = ao_config::schema();
    let told = |key: &str| page.contains(&format!("| `{key}` |"));
    let policy_cases = |name: &str| name.starts_with("Case") || name.starts_with("PolicyCase");
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(listed.contains(key), "`ao config-help` does not list `{key}`");
        assert!(told(key), "the reference does not tell of `{key}`");
    }
    for (name, part) in schema["$defs"].as_object().unwrap().iter().filter(|(name, _)| !policy_cases(name)) {
        let whole = part["anyOf"].as_array().and_then(|any| any.last()).unwrap_or(part);
        for key in whole["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
            let ends = [format!(".{key}"), format!(".<kind>.{key}")];
            let is_listed = listed.iter().any(|path| ends.iter().any(|end| path.ends_with(end)));
            assert!(is_listed, "`ao config-help` does not list `{key}` of {name}");
            assert!(told(key), "the reference does not tell of `{key}` of {name}");
        }
    }
}

#[test]
fn agents_of_ones_own_are_told_like_everything_else() {
    let find = |path: &str| ao_config::keys().into_iter().find(|key| key.path == path);
    let hooks = find("tools.<name>.hooks").expect("it is listed");
    assert_eq!((hooks.kind.as_str(), hooks.default.as_deref()), ("`true` or `false`", Some("false")));
    let prompt = find("tools.<name>.prompt").expect("it is listed");
    assert_eq!(prompt.kind, "`lines`, `argument`, `stdin`, `file`, `typed`");
    assert!(find("tools.<name>.keys.humanQuietMs").is_some());
    assert!(find("tools.<name>.firstLaunch[].question").is_some());
    let schema = ao_config::schema();
    assert_eq!(schema["$defs"]["ToolConfig"]["properties"]["program"]["type"], Value::from("string"));
}
