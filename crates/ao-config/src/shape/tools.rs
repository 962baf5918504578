//! The user's own agents, configured by `tools:`.
//!
//! Their keys belong to the crate that starts agents. `tools.schema.json` is generated from its types (`cargo xtask
//! generate`) and is included in the schema here, so that errors, the reference and editors know these keys like all
//! others.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// The placeholder in the schema for one of the user's own agents. Its content stays JSON until the agent is created.
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
