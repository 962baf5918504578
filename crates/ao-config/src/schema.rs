//! The JSON Schemas for editors and other tools.
//!
//! They are generated from the types and then widened to everything that is accepted: other names of keys, short forms,
//! references and dialects. Other names are in `patternProperties`, so that editors accept them but suggest the main
//! ones.

use serde_json::{Map, Value, json};

use crate::names::folded;
use crate::rule::SCHEMA;

/// Returns the schema of a configuration file, in draft 2020-12.
pub fn schema() -> Value {
    let mut schema = SCHEMA.clone();
    let enums = words(&schema);
    dialects(&mut schema);
    widen(&mut schema, true, &enums);
    strip(&mut schema);
    prune(&mut schema);
    schema
}

/// Returns the schema of `.ao/policy.yaml`.
pub fn policy_schema() -> Value {
    of_kind("PolicyConfig")
}

/// Returns the schema of `.ao/policy.test.yaml`.
pub fn policy_cases_schema() -> Value {
    of_kind("PolicyCases")
}

fn of_kind(kind: &str) -> Value {
    let mut schema = SCHEMA["$defs"][kind].clone();
    schema["$schema"] = SCHEMA["$schema"].clone();
    schema["$defs"] = SCHEMA["$defs"].clone();
    let enums = words(&schema);
    widen(&mut schema, false, &enums);
    strip(&mut schema);
    prune(&mut schema);
    schema
}

/// Removes definitions that are not referred to.
fn prune(schema: &mut Value) {
    fn refs(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                let name =
                    map.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
                found.extend(name.map(str::to_owned));
                map.iter().filter(|(key, _)| *key != "$defs").for_each(|(_, part)| refs(part, found));
            }
            Value::Array(list) => list.iter().for_each(|part| refs(part, found)),
            _ => {}
        }
    }
    let mut open = vec![];
    refs(schema, &mut open);
    let mut used = std::collections::BTreeSet::new();
    while let Some(name) = open.pop() {
        if used.insert(name.clone()) {
            refs(&schema["$defs"][&name], &mut open);
        }
    }
    if let Some(defs) = schema["$defs"].as_object_mut() {
        defs.retain(|name, _| used.contains(name));
    }
}

/// Returns the definitions that are a choice between strings; a reference may take the place of one.
fn words(schema: &Value) -> Vec<String> {
    let defs = schema["$defs"].as_object().into_iter().flatten();
    defs.filter(|(_, def)| def.get("oneOf").is_some() || def.get("enum").is_some())
        .map(|(name, _)| format!("#/$defs/{name}"))
        .collect()
}

/// Adds the keys of the other dialects.
fn dialects(schema: &mut Value) {
    let most = schema["$defs"]["LifecycleConfig"]["properties"]["maxParallelAgents"].clone();
    schema["$defs"]["OrchestratorConfig"]["patternProperties"] = json!({
        "^(maxParallelAgents|max_parallel_agents)$": most,
        "^(reactionHandlers|reaction_handlers)$": { "$ref": "#/$defs/Reactions" },
    });
    const SLOTS: [&str; 5] = ["runtime", "agent", "workspace", "tracker", "scm"];
    let plugin = json!({ "$ref": "#/$defs/Plugin" });
    schema["patternProperties"] = json!({
        "^(runtime|agent|workspace|tracker|scm)$": plugin,
        "^notifier$": { "anyOf": [plugin, { "type": "array", "items": plugin }] },
        "^(defaultBranch|default_branch)$": { "type": "string" },
    });
    let apart = SLOTS
        .iter()
        .chain(&["notifier"])
        .flat_map(|slot| ["projects", "defaults"].map(|main| json!({ "required": [slot, main] })));
    schema["not"] = json!({ "anyOf": apart.collect::<Vec<_>>() });
}

fn widen(schema: &mut Value, refs: bool, enums: &[String]) {
    let Value::Object(map) = schema else { return };
    let refs = match map.get("x-env").and_then(Value::as_str) {
        Some("now") => true,
        Some(_) => false,
        None => refs,
    };
    for word in ["properties", "$defs", "patternProperties"] {
        let parts = map.get_mut(word).and_then(Value::as_object_mut);
        for (_, part) in parts.into_iter().flatten() {
            widen(part, refs, enums);
        }
    }
    for word in ["items", "additionalProperties"] {
        if let Some(part) = map.get_mut(word) {
            widen(part, refs, enums);
        }
    }
    if map.contains_key("x-text") {
        map["additionalProperties"] = json!({ "type": ["string", "number", "boolean"] });
    }
    other_names(map);
    other_words(map);
    if refs {
        or_reference(map, enums);
    }
    if map.contains_key("x-one") {
        let description = map.remove("description");
        let one = map.get("items").cloned().unwrap_or_default();
        let whole = Value::Object(std::mem::take(map));
        map.insert("anyOf".into(), json!([one, whole]));
        map.extend(description.map(|description| ("description".to_owned(), description)));
    }
    if map.contains_key("x-short") {
        let description = map.remove("description");
        let whole = Value::Object(std::mem::take(map));
        let short = if whole.get("x-truth").is_some() { "boolean" } else { "string" };
        map.insert("anyOf".into(), json!([{ "type": short }, whole]));
        map.extend(description.map(|description| ("description".to_owned(), description)));
    }
}

/// Allows a reference for a number, a boolean, a time or a choice.
fn or_reference(map: &mut Map<String, Value>, enums: &[String]) {
    let is_enum =
        |value: &Value| value["$ref"].as_str().is_some_and(|name| enums.iter().any(|known| known == name));
    let types: Vec<&str> = match map.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let narrow = types.iter().any(|kind| matches!(*kind, "integer" | "number" | "boolean"))
        || types.contains(&"string") && map.contains_key("pattern");
    let choice = map.get("anyOf").and_then(Value::as_array).is_some_and(|any| any.iter().any(is_enum))
        || is_enum(&Value::Object(map.clone()));
    if !narrow && !choice {
        return;
    }
    let mut outer = Map::new();
    for word in ["description", "default", "x-also"] {
        if let Some(value) = map.remove(word) {
            outer.insert(word.into(), value);
        }
    }
    let inner = Value::Object(std::mem::take(map));
    outer.insert("anyOf".into(), json!([inner, { "type": "string", "pattern": r"\$\{.+\}" }]));
    *map = outer;
}

/// Adds the other names of the keys of a mapping.
fn other_names(map: &mut Map<String, Value>) {
    let Some(properties) = map.get("properties").and_then(Value::as_object) else { return };
    let mut patterns = Map::new();
    for (name, schema) in properties {
        let also =
            schema.get("x-also").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut names: Vec<String> = [name.as_str()].into_iter().chain(also).flat_map(spellings).collect();
        names.retain(|other| other != name && !properties.contains_key(other));
        names.sort();
        names.dedup();
        if !names.is_empty() {
            patterns.insert(format!("^({})$", names.join("|")), schema.clone());
        }
    }
    if !patterns.is_empty() {
        let known = map.entry("patternProperties").or_insert_with(|| json!({}));
        known.as_object_mut().expect("made as one").extend(patterns);
    }
}

/// Adds the other spellings of a choice.
fn other_words(map: &mut Map<String, Value>) {
    let Some(choices) = map.get("oneOf").and_then(Value::as_array) else { return };
    let mut right: Vec<String> = vec![];
    for choice in choices {
        right.extend(choice["const"].as_str().map(str::to_owned));
        right.extend(
            choice["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned),
        );
    }
    let also: Vec<String> = map
        .get("x-also")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(word, _)| word.clone())
        .collect();
    let mut others: Vec<String> = right.iter().chain(&also).flat_map(|word| spellings(word)).collect();
    others.retain(|word| !right.contains(word));
    others.sort();
    others.dedup();
    if let (false, Some(Value::Array(choices))) = (others.is_empty(), map.get_mut("oneOf")) {
        choices.push(json!({ "enum": others }));
    }
}

/// Returns a name in all spellings: `maxRetries`, `max_retries` and `max-retries`.
fn spellings(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for c in name.chars() {
        match c {
            '-' | '_' => words.push(String::new()),
            c if c.is_uppercase() => words.push(c.to_lowercase().to_string()),
            c => match words.last_mut() {
                Some(word) => word.push(c),
                None => words.push(c.to_string()),
            },
        }
    }
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|c| c.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    };
    let camel: String =
        words.iter().enumerate().map(|(n, word)| if n == 0 { word.clone() } else { capital(word) }).collect();
    let all = [words.join("_"), words.join("-"), camel];
    debug_assert!(all.iter().all(|spelling| folded(spelling) == folded(name)));
    all.into_iter().filter(|spelling| !spelling.starts_with('$')).collect()
}

/// Removes our own keywords.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|word, _| !word.starts_with("x-"));
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}
