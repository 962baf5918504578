//! Settings of agents, specialists and the orchestrator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reactions;
use super::units::TimeSpan;

/// The settings with which an agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentConfig {
    /// The actions that need no approval.
    pub permissions: Option<Permissions>,
    /// The way in which it is run, if it has several. By default by its protocol, where the runtime has pipes for that.
    pub mode: Option<ModeSetting>,
    /// The model, by the agent's own name for it.
    pub model: Option<String>,
    /// The reasoning effort, by the agent's own name for it.
    pub effort: Option<String>,
    /// The login to use, if there are several.
    pub account: Option<String>,
    /// Further arguments for its program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

/// The actions of an agent that need no approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "skip": "permissionless", "bypass": "permissionless", "ask": "default" }))]
pub enum Permissions {
    /// All.
    Permissionless,
    /// Those of the agent's own default.
    Default,
    /// Changing files, but not running commands.
    AutoEdit,
    /// Reading only; the agent suggests what it would do.
    Suggest,
}

/// A way to run an agent. Providers may bill them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModeSetting {
    /// By the protocol of its maker: it stays between its turns, asks for permissions, and can be interrupted.
    Protocol,
    /// On its own screen, which you can attach to and type at.
    Terminal,
    /// With a process for each turn, which needs no memory between them. It cannot be interrupted, and asks for nothing.
    Turns,
}

/// An agent for certain kinds of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Specialist {
    /// Its name, which can be used wherever an agent is named.
    pub id: String,
    /// The agent it is based on: a known one, or a name from `tools`.
    #[schemars(extend("x-also" = ["agent"]))]
    pub tool: String,
    /// Its runtime, if not the default.
    pub runtime: Option<super::Plugin>,
    /// The maximum number that run at a time, in all projects together.
    #[schemars(range(min = 1), extend("x-also" = ["maxParallelAgents", "maxAgents"]))]
    pub max_parallel: Option<u32>,
    /// Its skills, the issues it takes and its instructions.
    #[serde(default)]
    pub config: SpecialistConfig,
}

/// Skills, filters and instructions of a specialist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SpecialistConfig {
    /// Its skills, which are part of its prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The issues that it takes.
    pub filters: IssueFilters,
    /// Further instructions besides the task.
    #[schemars(extend("x-env" = "never"))]
    pub prompt: Option<String>,
    /// The settings with which it is started.
    pub agent_config: AgentConfig,
    /// Reactions to incidents of its sessions, merged over those of the project.
    #[serde(skip_serializing_if = "Reactions::is_empty")]
    pub reactions: Reactions,
}

/// The issues that a specialist takes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct IssueFilters {
    /// Issues with one of these labels; any issue if the list is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// No issue with one of these labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_labels: Vec<String>,
    /// Issues of these projects only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
}

/// The issues that are given to agents without a person's request: `true` for all, or a mapping that selects some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("x-short" = "enabled", "x-truth" = true))]
pub struct AutoAssignConfig {
    /// If `false`, none.
    pub enabled: bool,
    /// Only issues with one of these labels; any issue if the list is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// No issue with one of these labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_labels: Vec<String>,
    /// The label by which a person approves an issue whose author may not start agents. Agents cannot add it.
    pub approval_label: Option<String>,
    /// Leaves issues that fit no specialist alone, instead of giving them to the project's own agent.
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

/// The agent that manages the others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OrchestratorConfig {
    /// Starts one with `ao start`. By default it is started only if its agent stays at its prompt: an agent whose
    /// process ends with each turn would spend a turn on every start.
    pub enabled: Option<bool>,
    /// Gives new issues to agents without a person's request: to the specialist whose filters match, or else to the
    /// project's own agent. A project can override this.
    pub auto_assign: bool,
    /// Its agent, if not the default.
    pub agent: Option<String>,
    /// The settings with which it is started.
    pub agent_config: AgentConfig,
    /// Further instructions besides its own.
    #[schemars(extend("x-env" = "never"))]
    pub prompt: Option<String>,
    /// The interval at which it looks at all sessions without being asked; never if absent.
    pub every: Option<TimeSpan>,
}

impl IssueFilters {
    /// Returns `true` if an issue with these labels is for the specialist.
    pub fn admit<'a>(&self, project: &str, labels: impl IntoIterator<Item = &'a str>) -> bool {
        let labels: Vec<&str> = labels.into_iter().collect();
        let has = |wanted: &String| labels.iter().any(|label| label.eq_ignore_ascii_case(wanted));
        (self.projects.is_empty() || self.projects.iter().any(|name| name == project))
            && (self.labels.is_empty() || self.labels.iter().any(has))
            && !self.exclude_labels.iter().any(has)
    }
}
