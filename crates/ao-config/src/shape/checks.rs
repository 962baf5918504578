//! Checks of pull requests, run as commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EnvConfig;
use super::units::TimeSpan;

/// A check: a command, or `{ name: test, command: cargo test, … }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "command"))]
pub struct CheckConfig {
    /// Its name; by default the start of its command.
    pub name: Option<String>,
    /// The command, run by `sh` at the root of a clean checkout of the merged result. It passes if it exits with 0.
    #[schemars(extend("x-env" = "never"))]
    pub command: String,
    /// The time after which it is ended.
    #[serde(default = "half_an_hour")]
    pub timeout: TimeSpan,
    /// Path patterns, such as `src/**`. A change that touches none of them passes without a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// If `true`, a pull request merges only after it has passed.
    #[serde(default = "super::yes")]
    pub required: bool,
    /// Its environment variables, besides those that every program gets.
    #[serde(default, skip_serializing_if = "is_plain")]
    #[schemars(extend("x-also" = ["environment"]))]
    pub env: EnvConfig,
    /// The number of further runs if it could not be run or was killed from outside. A failed check is not run again.
    #[serde(default = "super::one")]
    pub retries: u32,
}

impl CheckConfig {
    /// Returns its name.
    pub fn name(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => self.command.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
        }
    }
}

fn half_an_hour() -> TimeSpan {
    TimeSpan(std::time::Duration::from_secs(30 * 60))
}

fn is_plain(env: &EnvConfig) -> bool {
    *env == EnvConfig::default()
}
