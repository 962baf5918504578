//! Plugins with their options, and how people are told things.

use std::fmt;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A plugin by name, with options of its own if it takes any: `local`, or `{ plugin: local, keep: files }`.
///
/// Options are kept as they are written. They may refer to secrets by `${NAME}`, and [`Plugin::resolved`] puts those in
/// where they are used, so that they are in no log and in no listing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plugin {
    pub plugin: String,
    #[serde(flatten)]
    pub options: IndexMap<String, serde_json::Value>,
}

/// A channel by which people are told things. What else it takes depends on its plugin, such as `webhookUrl`.
pub type Channel = Plugin;

/// A plugin from outside: where it is found, and whether it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginEntry {
    /// Its name.
    pub name: String,
    /// Where it comes from: `local`, `git`, or the name of a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The program or folder it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kind" = "path"))]
    pub path: Option<String>,
    /// The package it is in, for one that was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The version that is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it is used.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// What it is told when it starts.
    #[serde(default)]
    #[schemars(extend("x-env" = "late"))]
    pub config: serde_json::Map<String, serde_json::Value>,
}

/// Which channels news goes to, by how urgent it is. What is not named goes to `defaults.notifiers`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Routing {
    /// Somebody has to act now, or work stands still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgent: Option<Vec<String>>,
    /// Somebody has to decide something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Vec<String>>,
    /// Something is odd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Vec<String>>,
    /// Good to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Vec<String>>,
}

/// How urgent news is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "critical": "urgent", "high": "action", "medium": "warning", "low": "info" }))]
pub enum Priority {
    /// Somebody has to act now, or work stands still.
    Urgent,
    /// Somebody has to decide something.
    Action,
    /// Something is odd.
    Warning,
    /// Good to know.
    Info,
}

impl Plugin {
    pub fn named(name: &str) -> Plugin {
        Plugin { plugin: name.to_owned(), options: IndexMap::new() }
    }
}

impl Routing {
    /// The channels for news of this kind, if they are named.
    pub fn channels(&self, priority: Priority) -> Option<&[String]> {
        let named = match priority {
            Priority::Urgent => &self.urgent,
            Priority::Action => &self.action,
            Priority::Warning => &self.warning,
            Priority::Info => &self.info,
        };
        named.as_deref()
    }
}

/// Without the values of its options: somebody may have written a secret there as it is.
impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<&str> = self.options.keys().map(String::as_str).collect();
        f.debug_struct("Plugin").field("plugin", &self.plugin).field("options", &options).finish()
    }
}

impl JsonSchema for Plugin {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Plugin".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A plugin by name, with options of its own if it takes any: `local`, or \
                `{ plugin: local, keep: files }`. Options may refer to secrets by `${NAME}`.",
            "type": "object",
            "properties": { "plugin": { "type": "string", "description": "Its name." } },
            "required": ["plugin"],
            "additionalProperties": true,
            "x-short": "plugin",
            "x-env": "late",
        })
    }
}

fn yes() -> bool {
    true
}
