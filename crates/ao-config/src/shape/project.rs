//! Projects: the repositories to work on.

use camino::Utf8PathBuf;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::TimeSpan;
use super::{AgentConfig, AutoAssignConfig, CheckConfig, HooksConfig, Plugin, PolicyConfig, Reactions};

/// A repository to work on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Project {
    /// Its name on its forge: `owner/name`.
    pub repo: Option<String>,
    /// The main checkout. `~` is your home folder; a relative path starts at the folder of this file.
    #[schemars(with = "String", extend("x-kind" = "path"))]
    pub path: Utf8PathBuf,
    /// The branch that sessions start from and merge into.
    #[serde(default = "main_branch")]
    pub default_branch: String,
    /// The start of the names of its sessions; by default the project's name.
    pub session_prefix: Option<String>,
    /// The runtime of its agents.
    pub runtime: Option<Plugin>,
    /// Its agent.
    pub agent: Option<String>,
    /// The kind of workspace that each session gets.
    pub workspace: Option<Plugin>,
    /// The tracker of its issues.
    pub tracker: Option<Plugin>,
    /// The forge of its pull requests.
    pub scm: Option<Plugin>,
    /// The channels of its notices.
    pub notifiers: Option<Vec<String>>,
    /// Paths that each workspace shares with your checkout by a symbolic link, such as `node_modules`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symlinks: Vec<String>,
    /// Untracked files of your checkout that each workspace needs, such as `.env*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<IncludeConfig>,
    /// Commands that prepare a new workspace, run in it by your shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-env" = "never"))]
    pub post_create: Vec<String>,
    /// Commands that run before a workspace is removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-env" = "never"))]
    pub teardown: Vec<String>,
    /// The time limit of all commands of `postCreate` together, and likewise of `teardown`.
    #[serde(default = "ten_minutes")]
    pub setup_timeout: TimeSpan,
    /// Commands that test every pull request, if pull requests are `local`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckConfig>,
    /// The environment variables of its agents.
    #[serde(default)]
    pub env: EnvConfig,
    /// Ports that each session gets for itself.
    pub ports: Option<PortsConfig>,
    /// The settings with which its agents are started.
    #[serde(default)]
    pub agent_config: AgentConfig,
    /// Instructions for its agents besides their task.
    #[schemars(extend("x-env" = "never"))]
    pub agent_rules: Option<String>,
    /// A file with such instructions, read when an agent starts. It has to be below the project's `path`, where a
    /// relative path starts.
    pub agent_rules_file: Option<String>,
    /// Settings of its orchestrator.
    #[serde(default)]
    pub orchestrator: RoleConfig,
    /// Settings of the agents of its sessions.
    #[serde(default)]
    pub worker: RoleConfig,
    /// Reactions to incidents in this project. Absent fields are as at the top.
    #[serde(default)]
    pub reactions: Reactions,
    /// Commands on the way from a task to a merge, run after those at the top.
    #[serde(default, skip_serializing_if = "HooksConfig::is_empty")]
    pub hooks: HooksConfig,
    /// The response to forecasts of branches that will conflict with each other.
    #[serde(default)]
    pub conflict_forecast: ConflictForecastConfig,
    /// The conditions for merging its pull requests, in addition to `.ao/policy.yaml` on its base branch: if both set a
    /// key, the stricter value counts.
    pub policy: Option<PolicyConfig>,
    /// The issues that are given to agents without a person's request. By default as in `orchestrator.autoAssign`.
    pub auto_assign: Option<AutoAssignConfig>,
    /// The maximum number of its agents that run at a time.
    #[schemars(extend("x-also" = ["maxAgents", "maxSessions"]))]
    pub max_parallel_agents: Option<u32>,
    /// The budget of one session.
    #[serde(default)]
    pub budget: BudgetConfig,
    /// The budget of all sessions of one issue together: a second session for it gets no fresh budget.
    #[serde(default)]
    pub task_budget: BudgetConfig,
    /// The budget of its sessions together, per day.
    #[serde(default)]
    pub daily_budget: BudgetConfig,
    /// The budget of all its sessions together, without a period.
    #[serde(default)]
    pub total_budget: BudgetConfig,
    /// Settings of its merge queue. With this, `ao pr merge` uses the queue as well.
    pub merge_queue: Option<MergeQueueConfig>,
    /// Closes the issues that a merged pull request settles: the one that its session works on, and those that its
    /// title, its description or its commits name after a keyword such as `Closes`.
    #[serde(default = "super::yes")]
    pub close_merged_issues: bool,
    /// Resumes its sessions automatically when a provider's limit ends; by default as in `lifecycle`.
    pub auto_resume: Option<bool>,
}

/// The response to forecasts of branches that will conflict with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConflictForecastConfig {
    /// Informs both agents, once, when their changes will conflict.
    pub tell: bool,
    /// Holds an issue that names files which another agent is changing, for half an hour at most.
    pub hold: bool,
}

impl Default for ConflictForecastConfig {
    fn default() -> ConflictForecastConfig {
        let ao_core::forecast::ForecastConfig { tell, hold } = Default::default();
        ConflictForecastConfig { tell, hold }
    }
}

/// Settings of one kind of agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RoleConfig {
    /// The agent.
    pub agent: Option<String>,
    /// The settings with which it is started.
    pub agent_config: AgentConfig,
}

/// Files that a workspace needs: a pattern, or `{ pattern: .env*, how: symlink }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "pattern"))]
pub struct IncludeConfig {
    /// A path or pattern, relative to the root of the repository.
    pub pattern: String,
    /// The way in which the files get into a workspace.
    #[serde(default)]
    pub how: IncludeMode,
}

/// The way in which a file gets into a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IncludeMode {
    #[default]
    Copy,
    Symlink,
    /// A copy that shares its blocks if the file system supports it; otherwise a plain copy.
    Reflink,
}

/// Environment variables of agents, besides those that every program gets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EnvConfig {
    /// Variables that are passed on from the daemon's own environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass: Vec<String>,
    /// Variables with a fixed value. A value that is a single `${NAME}` is looked up when an agent starts and is never
    /// logged.
    #[schemars(extend("x-env" = "late", "x-text" = true))]
    pub set: IndexMap<String, String>,
    /// Variables whose value is looked up when an agent starts and is never logged.
    #[schemars(extend("x-env" = "late"))]
    pub secrets: IndexMap<String, SecretConfig>,
}

/// The source of a secret: the name of a variable, or `{ file: ~/.token }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "env"))]
pub struct SecretConfig {
    /// A variable of the daemon's environment.
    pub env: Option<String>,
    /// A file that contains nothing but the secret.
    #[schemars(with = "Option<String>", extend("x-kind" = "path", "x-env" = "now"))]
    pub file: Option<Utf8PathBuf>,
}

/// Ports that each session gets for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortsConfig {
    /// The variables that hold them, such as `PORT` and `API_PORT`: one port for each.
    pub names: Vec<String>,
    /// The first port of the range.
    #[schemars(range(min = 1))]
    pub first: u16,
    /// The last port of the range; by default there are as many ports as names.
    #[schemars(range(min = 1))]
    pub last: Option<u16>,
    /// Gives each name one fixed port, so that only one session can run at a time.
    #[serde(default)]
    pub exclusive: bool,
}

/// Settings of a merge queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MergeQueueConfig {
    /// The number of tests that run at a time, each on top of the entries before it.
    #[schemars(range(min = 1, max = 20))]
    pub parallel: u32,
    /// The number of pull requests that are tested, and land, together. If they fail, halves are tested until the cause
    /// is found.
    #[schemars(range(min = 1, max = 50))]
    pub batch: u32,
    /// The update of branches that are behind and merge cleanly, while their agents are idle.
    pub update: UpdateName,
}

/// The update of a branch that is behind and merges cleanly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateName {
    /// None: the queue tests the merge anyway.
    #[default]
    None,
    /// Rebase and push.
    Rebase,
}

impl Default for MergeQueueConfig {
    fn default() -> MergeQueueConfig {
        let usual = ao_core::queue::QueueRules::default();
        MergeQueueConfig { parallel: usual.parallel, batch: usual.batch, update: UpdateName::None }
    }
}

/// Limits on spending. An absent one is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BudgetConfig {
    /// Dollars, as far as the agent reports its cost.
    #[schemars(range(min = 0))]
    pub usd: Option<f64>,
    /// Tokens, as far as the agent reports them.
    pub tokens: Option<u64>,
    /// Turns of the agent.
    pub turns: Option<u64>,
    /// Time for which its process runs.
    pub time: Option<TimeSpan>,
}

fn main_branch() -> String {
    "main".into()
}

fn ten_minutes() -> TimeSpan {
    TimeSpan(ao_core::setup::Setup::default().timeout)
}
