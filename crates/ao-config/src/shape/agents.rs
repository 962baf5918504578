//! Who does the work: how agents are set up, specialists, and the orchestrator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reactions;
use super::units::Time;

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentConfig {
    /// What it may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Which model it uses, in the agent's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks, in the agent's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Which of several logins it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Further arguments for its program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "skip": "permissionless", "bypass": "permissionless", "ask": "default" }))]
pub enum Permissions {
    /// Everything.
    Permissionless,
    /// What the agent itself thinks right.
    Default,
    /// Change files, but ask before it runs commands.
    AutoEdit,
    /// Read, and say what it would do.
    Suggest,
}

/// An agent for certain work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Specialist {
    /// Its name, which can stand wherever an agent is named.
    pub id: String,
    /// Which agent it is: a known one, or a name from `tools`.
    #[schemars(extend("x-also" = ["agent"]))]
    pub tool: String,
    /// Where it runs, if not as by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<super::Plugin>,
    /// How many of it may run at a time, in all projects together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-also" = ["maxParallelAgents", "maxAgents"]))]
    pub max_parallel: Option<u32>,
    /// What it is good at, and what it is given.
    #[serde(default)]
    pub config: SpecialistConfig,
}

/// What a specialist is good at, and what it is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SpecialistConfig {
    /// What it is told that it is good at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Which issues are for it.
    pub filters: Filters,
    /// What it is told besides the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-env" = "never"))]
    pub prompt: Option<String>,
    /// How it is started.
    pub agent_config: AgentConfig,
    /// What is done when something happens to its work, over what its project says.
    #[serde(skip_serializing_if = "Reactions::is_empty")]
    pub reactions: Reactions,
}

/// Which issues are for a specialist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Filters {
    /// An issue with one of these labels; any issue if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// But not one with any of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_labels: Vec<String>,
    /// Issues of these projects only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
}

/// Which issues of a project are given to agents without a person's word: `true` for all, or a mapping that says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("x-short" = "enabled", "x-truth" = true))]
pub struct AutoAssignConfig {
    /// Whether any are.
    pub enabled: bool,
    /// Only those with one of these labels; any, if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// But none with any of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_labels: Vec<String>,
    /// By this label a person answers for an issue of somebody who may not set agents to work. Agents cannot put it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_label: Option<String>,
    /// Whether what no specialist is for is left alone, instead of being done by the project's own agent.
    pub specialists_only: bool,
}

impl Default for AutoAssignConfig {
    fn default() -> AutoAssignConfig {
        AutoAssignConfig {
            enabled: true,
            labels: vec![],
            exclude_labels: vec![],
            approval_label: None,
            specialists_only: false,
        }
    }
}

/// The agent that looks after the others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OrchestratorConfig {
    /// Starts one with `ao start`. If absent, only if its agent stays at its prompt: one that ends its process with each turn
    /// would spend a turn on every start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether new issues are given to agents without a person's word: to the specialist whose filters fit, or else to the
    /// project's own agent. A project can say otherwise for itself.
    pub auto_assign: bool,
    /// Which agent it is, if not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it is started.
    pub agent_config: AgentConfig,
    /// What it is told besides its own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-env" = "never"))]
    pub prompt: Option<String>,
    /// How often it looks around by itself; never, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
}

impl Filters {
    /// Whether an issue with these labels is for the specialist.
    pub fn admit<'a>(&self, project: &str, labels: impl IntoIterator<Item = &'a str>) -> bool {
        let labels: Vec<&str> = labels.into_iter().collect();
        let has = |wanted: &String| labels.iter().any(|label| label.eq_ignore_ascii_case(wanted));
        (self.projects.is_empty() || self.projects.iter().any(|name| name == project))
            && (self.labels.is_empty() || self.labels.iter().any(has))
            && !self.exclude_labels.iter().any(has)
    }
}
