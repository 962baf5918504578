//! The one shape that every dialect is read into: what a configuration can say.
//!
//! These types make the JSON Schema and the reference, so their comments are written for users. They say what is
//! configured and nothing of how it is read: keys are known here by their one right name.

mod agents;
mod checks;
mod hooks;
mod policy;
mod policy_cases;
mod project;
mod quiet;
mod reaction;
mod settings;
mod tell;
mod tools;
pub mod units;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::agents::{
    AgentConfig, AutoAssignConfig, Filters, OrchestratorConfig, Permissions, Specialist, SpecialistConfig,
};
pub use self::checks::CheckConfig;
pub use self::hooks::{HookConfig, Hooks};
pub use self::policy::{
    ApproversConfig, FreezeConfig, NeedsHuman, PatternConfig, PolicyConfig, ProtectedConfig, StandingName,
    TrustLevel,
};
pub use self::policy_cases::{CaseCheck, CaseExpected, CaseGiven, CaseVerdict, PolicyCase, PolicyCases};
pub use self::project::{
    BudgetConfig, ConflictForecastConfig, EnvConfig, IncludeConfig, IncludeMode, MergeQueueConfig,
    PortsConfig, Project, Role, SecretConfig, UpdateName,
};
pub use self::quiet::{BadHours, Day, DigestConfig, OfChannel, QuietHours};
pub(crate) use self::reaction::kind_order;
pub use self::reaction::{ActionName, EscalateAfter, MergeStrategy, ReactionConfig, Reactions};
pub use self::settings::{Dashboard, Lifecycle, Power, Server};
pub use self::tell::{Channel, Plugin, PluginEntry, Priority, Routing};

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "ao configuration")]
pub struct Config {
    /// Where editors find the schema of this file.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The port of the dashboard and the HTTP interface.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// What holds for every project that does not say otherwise.
    pub defaults: Defaults,
    /// The repositories that are looked after, by name. A name has letters, digits, `-`, `_` and `.` only.
    pub projects: IndexMap<String, Project>,
    /// What is done when something happens.
    pub reactions: Reactions,
    /// The same for agents, by name, over what the project says: `agentReactions: { codex: { ci-failed: … } }`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub agent_reactions: IndexMap<String, Reactions>,
    /// Commands that are run on the way from a task to a merge, for every project. They run before a project's own.
    #[serde(skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// Channels by which people are told things, by name. `${NAME}` stands for a variable of the environment. A channel has a
    /// `plugin` and its settings: `slack` and `discord` take `webhookUrl`; `telegram` takes `botToken`, `chatId` and `apiUrl`;
    /// `webhook` takes `url`, `secret` and `headers`; `composio` takes `apiKey`, `apiUrl`, `tool`, `toolVersion`, `userId`,
    /// `connectedAccountId`, `channel` and `arguments`; `openclaw` takes `url`, `token`, `mode`, `name`, `agentId`,
    /// `sessionKey`, `channel`, `to` and `deliver`; `desktop` takes `opener`.
    pub notifiers: IndexMap<String, Channel>,
    /// Which channels news goes to, by how urgent it is.
    pub notification_routing: Routing,
    /// Hours in which nobody is told what can wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// What is gathered and told as one notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<DigestConfig>,
    /// Plugins from outside.
    pub plugins: Vec<PluginEntry>,
    /// Limits and patience: how many agents, how often, how long.
    pub lifecycle: Lifecycle,
    /// What all sessions of all projects may use up in a day, together.
    pub daily_budget: BudgetConfig,
    /// The page in the browser.
    pub dashboard: Dashboard,
    /// Who can reach the daemon.
    pub server: Server,
    /// What happens to the computer while agents work.
    pub power: Power,
    /// Specialists: agents for certain work, chosen by the labels of an issue.
    pub agents: Vec<Specialist>,
    /// Agents of your own, by name: how a program is started, read and spoken to.
    #[schemars(with = "IndexMap<String, tools::ToolConfig>", extend("x-env" = "never", "x-kind" = "tools"))]
    pub tools: IndexMap<String, serde_json::Map<String, serde_json::Value>>,
    /// The agent that looks after the others.
    pub orchestrator: OrchestratorConfig,
}

/// What holds for every project that does not say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Defaults {
    /// Where agents run: `tmux` or `process`.
    pub runtime: Plugin,
    /// Which agent does the work: `claude-code`, `codex`, `aider` and others, or a name from `tools` or `agents`.
    pub agent: String,
    /// How each session gets a checkout of its own: `worktree` or `clone`.
    pub workspace: Plugin,
    /// Where issues live: `local`. `github`, `linear`, `gitlab` and `jira` can be written and are not available in this version
    /// yet.
    pub tracker: Plugin,
    /// Where pull requests live: `local`. `github`, `gitlab` and `gitea` can be written and are not available in this version
    /// yet. As the tracker, if it is one of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scm: Option<Plugin>,
    /// How people are told things: `desktop`, `slack`, `discord`, `composio`, `webhook`, `openclaw`, `telegram`, or the
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
            hooks: Hooks::default(),
            notifiers: IndexMap::new(),
            notification_routing: Routing::default(),
            quiet_hours: None,
            digest: None,
            plugins: vec![],
            lifecycle: Lifecycle::default(),
            daily_budget: BudgetConfig::default(),
            dashboard: Dashboard::default(),
            server: Server::default(),
            power: Power::default(),
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
