//! The schema of a manifest, generated from [`Options`]. The configuration uses it as it is for `tools:`.
//!
//! `ao-config` does not depend on agents, so it gets the schema as a checked-in file. A test fails if that file differs
//! from what the types generate.

use serde_json::Value;

use crate::command::Options;

/// Returns the schema of [`Options`], in draft 2020-12, with the extensions that `ao-config` understands (`x-…`).
pub fn manifest_schema() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Options>().to_value();
    drop_empty_defaults(&mut schema);
    schema
}

/// Removes empty defaults. That of a mapping would list its keys by the names that manifests use.
fn drop_empty_defaults(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let says_nothing = |default: &Value| match default {
                Value::Null | Value::Object(_) => true,
                Value::String(text) => text.is_empty(),
                _ => false,
            };
            if map.get("default").is_some_and(says_nothing) {
                map.remove("default");
            }
            map.values_mut().for_each(drop_empty_defaults);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_empty_defaults),
        _ => {}
    }
}

/// Returns the files that are generated from this crate, by their path in the repository. `cargo xtask generate` writes
/// them.
pub fn generated() -> Vec<(&'static str, String)> {
    let schema = serde_json::to_string_pretty(&manifest_schema()).expect("a schema can be written");
    vec![("crates/ao-config/src/shape/tools.schema.json", schema + "\n")]
}
