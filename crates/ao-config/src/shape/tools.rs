//! Agents of the user's own, as `tools:` describes them.
//!
//! Their keys belong to the crate that starts agents. Its types make `tools.schema.json` (`cargo xtask generate`), which becomes a
//! part of the schema here, so that errors, the reference and editors know these keys like all others.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// Stands for an agent of the user's own in the schema. Its content stays JSON until an agent is made of it.
#[derive(Debug)]
pub(crate) enum ToolConfig {}

impl JsonSchema for ToolConfig {
    fn schema_name() -> Cow<'static, str> {
        "ToolConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let made: Value = serde_json::from_str(include_str!("tools.schema.json")).expect("a schema is JSON");
        let mut schema = Schema::try_from(made).expect("a schema is a mapping");
        if let Some(Value::Object(parts)) = schema.remove("$defs") {
            for (name, part) in parts {
                let known = generator.definitions_mut().insert(name.clone(), part);
                assert!(known.is_none(), "`{name}` is the name of another type of the configuration");
            }
        }
        schema.remove("$schema");
        schema.remove("title");
        schema
    }
}
