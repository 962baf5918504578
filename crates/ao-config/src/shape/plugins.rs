//! Plugins with their options, and the routing of notices.

use std::fmt;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A plugin by name, with its options: `local`, or `{ plugin: local, keep: files }`.
///
/// Options stay as they are written. They may refer to secrets by `${NAME}`, which [`Plugin::resolved`] replaces where
/// they are used, so that they appear in no log and no listing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plugin {
    pub plugin: String,
    #[serde(flatten)]
    pub options: IndexMap<String, serde_json::Value>,
}

/// A channel for notices. Its options depend on its plugin, such as `webhookUrl`.
pub type Channel = Plugin;

/// A plugin from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginEntry {
    /// Its name.
    pub name: String,
    /// Its source: `local`, `git`, or the name of a registry.
    pub source: Option<String>,
    /// Its program or folder.
    #[schemars(extend("x-kind" = "path"))]
    pub path: Option<String>,
    /// Its package, if it was installed from one.
    pub package: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// If `false`, it is not used.
    #[serde(default = "super::yes")]
    pub enabled: bool,
    /// Its own configuration, which it gets when it starts.
    #[serde(default)]
    #[schemars(extend("x-env" = "late"))]
    pub config: serde_json::Map<String, serde_json::Value>,
}

/// The channels of notices, by priority. An absent priority goes to `defaults.notifiers`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RoutingConfig {
    /// A person has to act now, because work has stopped.
    pub urgent: Option<Vec<String>>,
    /// A person has to decide something.
    pub action: Option<Vec<String>>,
    /// Something is unusual.
    pub warning: Option<Vec<String>>,
    /// Good to know.
    pub info: Option<Vec<String>>,
}

/// The priority of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "critical": "urgent", "high": "action", "medium": "warning", "low": "info" }))]
pub enum Priority {
    /// A person has to act now, because work has stopped.
    Urgent,
    /// A person has to decide something.
    Action,
    /// Something is unusual.
    Warning,
    /// Good to know.
    Info,
}

impl Plugin {
    pub fn named(name: &str) -> Plugin {
        Plugin { plugin: name.to_owned(), options: IndexMap::new() }
    }
}

impl RoutingConfig {
    /// Lists the configured priorities, by their keys, with their channels.
    pub fn configured(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let RoutingConfig { urgent, action, warning, info } = self;
        let all = [("urgent", urgent), ("action", action), ("warning", warning), ("info", info)];
        all.into_iter().filter_map(|(key, channels)| Some((key, channels.as_deref()?)))
    }

    /// Returns the channels of a priority, if they are configured.
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

/// Omits the values of its options, which may contain a secret in plain text.
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
            "description": "A plugin by name, with its options: `local`, or \
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
