//! The schema of a manifest, which the configuration takes over for `tools:`.

use std::collections::BTreeSet;
use std::path::Path;

use ao_agent::{Options, generated, manifest_schema};
use serde_json::{Value, json};

#[test]
fn the_checked_in_schema_matches_the_types() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in generated() {
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == text, "{path} is not what the types make: run `cargo xtask generate`");
    }
}

/// The keys that the type behind a path reads, as serde itself names them. None if no mapping of known keys stands there.
fn read_at(path: &[Value]) -> Option<BTreeSet<String>> {
    let bogus = json!({ "no such key": 0 });
    let manifest = path.iter().rev().fold(bogus, |inner, part| match part {
        Value::String(key) => json!({ key.as_str(): inner }),
        _ => json!([inner]),
    });
    let error = serde_json::from_value::<Options>(manifest).err()?.to_string();
    let expected = error.strip_prefix("unknown field `no such key`, expected ")?;
    Some(expected.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

fn resolved(schema: &Value) -> Value {
    let schemas = [schema].into_iter().chain(schema["anyOf"].as_array().into_iter().flatten());
    let name = schemas.filter_map(|schema| schema["$ref"].as_str()).next();
    match name.and_then(|name| name.strip_prefix('#')) {
        Some(name) => manifest_schema().pointer(name).cloned().unwrap(),
        None => schema.clone(),
    }
}

/// Compares each mapping of the schema with what is read there, and returns how many there were.
fn compare(path: &[Value], schema: &Value) -> usize {
    let schema = resolved(schema);
    let below = |part: Value| [path, &[part]].concat();
    if schema["items"].is_object() {
        return compare(&below(json!(0)), &schema["items"]);
    }
    let Some(properties) = schema["properties"].as_object() else {
        assert_eq!(read_at(path), None, "{path:?} has keys that the schema does not tell");
        return 0;
    };
    let read = read_at(path).unwrap_or_else(|| panic!("{path:?} is no mapping"));
    // Of a field of two words, serde names the alias as well.
    let known: BTreeSet<String> = properties.keys().cloned().collect();
    let camel = |key: &String| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
    };
    assert_eq!(read.iter().map(camel).collect::<BTreeSet<_>>(), known, "at {path:?}");
    assert!(known.is_subset(&read), "at {path:?}: give a field of two words an alias in `camelCase`");
    1 + properties.iter().map(|(key, schema)| compare(&below(json!(key)), schema)).sum::<usize>()
}

#[test]
fn every_key_that_is_read_is_in_the_schema_and_no_other() {
    let mappings = compare(&[], &manifest_schema());
    assert!(mappings >= 4, "a manifest has its screen, its keys and its first launch: {mappings}");
}

#[test]
fn every_key_is_explained() {
    fn walk(schema: &Value) {
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            assert!(inner["description"].is_string(), "`{key}` needs a comment for users");
        }
    }
    let schema = manifest_schema();
    walk(&schema);
    schema["$defs"].as_object().unwrap().values().for_each(walk);
}
