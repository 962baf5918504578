//! Commands that say whether a change works.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EnvConfig;
use super::units::Time;

/// A check: a command, or `{ name: test, command: cargo test, … }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "command"))]
pub struct CheckConfig {
    /// What it is called; the first words of its command, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Run by `sh` at the root of a clean checkout of what would land. It passes if it ends with 0.
    #[schemars(extend("x-env" = "never"))]
    pub command: String,
    /// How long it may take.
    #[serde(default = "half_an_hour")]
    pub timeout: Time,
    /// Patterns of paths, such as `src/**`. A change that touches none of them passes without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Whether nothing merges before it has passed.
    #[serde(default = "yes")]
    pub required: bool,
    /// What it finds in its environment besides what every program gets.
    #[serde(default, skip_serializing_if = "is_plain")]
    #[schemars(extend("x-also" = ["environment"]))]
    pub env: EnvConfig,
    /// How often it is run again if it could not be run, or was killed from outside. One that fails is not run again.
    #[serde(default = "one")]
    pub retries: u32,
}

impl CheckConfig {
    /// What it is called.
    pub fn name(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => self.command.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
        }
    }
}

fn half_an_hour() -> Time {
    Time(std::time::Duration::from_secs(30 * 60))
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn is_plain(env: &EnvConfig) -> bool {
    *env == EnvConfig::default()
}
