//! The types of a configuration, into which all dialects are read.
//!
//! The JSON Schema and the reference are generated from these types, so their comments are written for users. They
//! describe the settings and not the way they are read: each key has only its main name here.

mod agents;
mod checks;
mod hooks;
mod plugins;
mod policy;
mod policy_cases;
mod project;
mod quiet;
mod reaction;
mod settings;
mod tools;
pub mod units;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::agents::{
    AgentConfig, AutoAssignConfig, IssueFilters, ModeSetting, OrchestratorConfig, Permissions, Specialist,
    SpecialistConfig,
};
pub use self::checks::CheckConfig;
pub use self::hooks::{HookConfig, HooksConfig};
pub use self::plugins::{Channel, Plugin, PluginEntry, Priority, RoutingConfig};
pub use self::policy::{
    ApproversConfig, FreezeConfig, NeedsHuman, PatternConfig, PolicyConfig, ProtectedConfig, StandingName,
    TrustLevel,
};
pub use self::policy_cases::{CaseCheck, CaseExpected, CaseGiven, CaseVerdict, PolicyCase, PolicyCases};
pub use self::project::{
    BudgetConfig, ConflictForecastConfig, EnvConfig, IncludeConfig, IncludeMode, MergeQueueConfig,
    PortsConfig, Project, RoleConfig, SecretConfig, UpdateName,
};
pub use self::quiet::{BadHours, DigestConfig, OfChannel, QuietHours, WeekDay};
pub(crate) use self::reaction::kind_order;
pub use self::reaction::{EscalateAfter, ReactionConfig, Reactions};
pub use self::settings::{DashboardConfig, LifecycleConfig, PowerConfig, ServerConfig};

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "ao configuration")]
pub struct Config {
    /// The address at which editors find the schema of this file.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The port of the dashboard and the HTTP API.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Settings of all projects, unless a project overrides them.
    pub defaults: Defaults,
    /// The repositories to work on, by name. A name consists of letters, digits, `-`, `_` and `.`.
    pub projects: IndexMap<String, Project>,
    /// The reactions to incidents.
    pub reactions: Reactions,
    /// Reactions of agents, by name, merged over those of the project: `agentReactions: { codex: { ci-failed: … } }`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub agent_reactions: IndexMap<String, Reactions>,
    /// Commands on the way from a task to a merge, for every project. They run before a project's own.
    #[serde(skip_serializing_if = "HooksConfig::is_empty")]
    pub hooks: HooksConfig,
    /// Channels for notices, by name. `${NAME}` stands for an environment variable. A channel has a `plugin` and its
    /// settings: `slack` and `discord` take `webhookUrl`; `telegram` takes `botToken`, `chatId` and `apiUrl`; `webhook`
    /// takes `url`, `secret` and `headers`; `composio` takes `apiKey`, `apiUrl`, `tool`, `toolVersion`, `userId`,
    /// `connectedAccountId`, `channel` and `arguments`; `openclaw` takes `url`, `token`, `mode`, `name`, `agentId`,
    /// `sessionKey`, `channel`, `to` and `deliver`; `desktop` takes `opener`.
    pub notifiers: IndexMap<String, Channel>,
    /// The channels of notices, by priority.
    pub notification_routing: RoutingConfig,
    /// Hours in which notices that can wait are held back.
    pub quiet_hours: Option<QuietHours>,
    /// Notices that are collected and sent as one.
    pub digest: Option<DigestConfig>,
    /// Plugins from outside.
    pub plugins: Vec<PluginEntry>,
    /// Limits and timeouts of sessions.
    pub lifecycle: LifecycleConfig,
    /// The budget of all sessions of all projects together, per day.
    pub daily_budget: BudgetConfig,
    /// The dashboard in the browser.
    pub dashboard: DashboardConfig,
    /// Network access to the daemon.
    pub server: ServerConfig,
    /// Sleep of the computer while agents work.
    pub power: PowerConfig,
    /// Specialists: agents for certain kinds of tasks, chosen by the labels of an issue.
    pub agents: Vec<Specialist>,
    /// Your own agents, by name: commands to start a program, and rules to read its output and send it messages.
    #[schemars(with = "IndexMap<String, tools::ToolConfig>", extend("x-env" = "never", "x-kind" = "tools"))]
    pub tools: IndexMap<String, serde_json::Map<String, serde_json::Value>>,
    /// The agent that manages the others.
    pub orchestrator: OrchestratorConfig,
}

/// Settings of all projects, unless a project overrides them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Defaults {
    /// The runtime of agents: `tmux` or `process`.
    pub runtime: Plugin,
    /// The agent: `claude-code`, `codex`, `aider` and others, or a name from `tools` or `agents`.
    pub agent: String,
    /// The kind of workspace that each session gets: `worktree` or `clone`.
    pub workspace: Plugin,
    /// The tracker: `local`. `github`, `linear`, `gitlab` and `jira` load, but are not available in this version.
    pub tracker: Plugin,
    /// The forge: `local`. `github`, `gitlab` and `gitea` load, but are not available in this version. By default
    /// the same as the tracker, if that is a forge.
    pub scm: Option<Plugin>,
    /// The channels of notices: `desktop`, `slack`, `discord`, `composio`, `webhook`, `openclaw`, `telegram`, or the
    /// name of a channel from `notifiers`.
    pub notifiers: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            schema: None,
            port: 3000,
            defaults: Defaults::default(),
            projects: IndexMap::new(),
            reactions: Reactions::default(),
            agent_reactions: IndexMap::new(),
            hooks: HooksConfig::default(),
            notifiers: IndexMap::new(),
            notification_routing: RoutingConfig::default(),
            quiet_hours: None,
            digest: None,
            plugins: vec![],
            lifecycle: LifecycleConfig::default(),
            daily_budget: BudgetConfig::default(),
            dashboard: DashboardConfig::default(),
            server: ServerConfig::default(),
            power: PowerConfig::default(),
            agents: vec![],
            tools: IndexMap::new(),
            orchestrator: OrchestratorConfig::default(),
        }
    }
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            runtime: Plugin::named("process"),
            agent: "claude-code".into(),
            workspace: Plugin::named("worktree"),
            tracker: Plugin::named("local"),
            scm: None,
            notifiers: vec!["desktop".into()],
        }
    }
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}
