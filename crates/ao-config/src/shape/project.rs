//! A repository that is looked after.

use camino::Utf8PathBuf;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::Time;
use super::{AgentConfig, AutoAssignConfig, CheckConfig, Hooks, Plugin, PolicyConfig, Reactions};

/// A repository that is looked after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Project {
    /// What its forge calls it: `owner/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Your own checkout of it. `~` is your home folder; a relative path starts at the folder of this file.
    #[schemars(with = "String", extend("x-kind" = "path"))]
    pub path: Utf8PathBuf,
    /// The branch that work starts from and goes back to.
    #[serde(default = "main_branch")]
    pub default_branch: String,
    /// What the names of its sessions begin with; the project's name, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_prefix: Option<String>,
    /// Where its agents run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Plugin>,
    /// Which agent does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How each session gets a checkout of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Plugin>,
    /// Where its issues live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracker: Option<Plugin>,
    /// Where its pull requests live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scm: Option<Plugin>,
    /// How people are told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifiers: Option<Vec<String>>,
    /// Paths that each workspace shares with your checkout by a link, such as `node_modules`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symlinks: Vec<String>,
    /// Files of your checkout that git does not track and that each workspace needs, such as `.env*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<IncludeConfig>,
    /// Commands that make a new workspace ready, run in it by your shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-env" = "never"))]
    pub post_create: Vec<String>,
    /// Commands that run before a workspace is removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-env" = "never"))]
    pub teardown: Vec<String>,
    /// How long the commands of `postCreate`, or of `teardown`, may take together.
    #[serde(default = "ten_minutes")]
    pub setup_timeout: Time,
    /// What says whether a change works: commands that are run on every pull request, if pull requests are `local`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckConfig>,
    /// What its agents find in their environment.
    #[serde(default)]
    pub env: EnvConfig,
    /// Ports that each session gets for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortsConfig>,
    /// How its agents are started.
    #[serde(default)]
    pub agent_config: AgentConfig,
    /// What its agents are told besides their task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-env" = "never"))]
    pub agent_rules: Option<String>,
    /// A file with the same, read when an agent starts. It has to be in the project's `path`, where a relative one starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_rules_file: Option<String>,
    /// What is different for its orchestrator.
    #[serde(default)]
    pub orchestrator: Role,
    /// What is different for the agents that do the work.
    #[serde(default)]
    pub worker: Role,
    /// What is done when something happens in it; what is absent is as at the top.
    #[serde(default)]
    pub reactions: Reactions,
    /// Commands that are run on the way from a task to a merge, after those at the top.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// What is done with forecasts of which branches will not merge with each other.
    #[serde(default)]
    pub conflict_forecast: ConflictForecastConfig,
    /// What must hold before its pull requests are merged, whatever `.ao/policy.yaml` on its base branch says: of the two,
    /// the stricter one counts, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyConfig>,
    /// Which of its issues are given to agents without a person's word. As `orchestrator.autoAssign` says, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_assign: Option<AutoAssignConfig>,
    /// How many of its agents may run at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["maxAgents", "maxSessions"]))]
    pub max_parallel_agents: Option<u32>,
    /// What one session may use up.
    #[serde(default)]
    pub budget: BudgetConfig,
    /// What all sessions of one issue may use up, together: a second session for it gets no fresh budget.
    #[serde(default)]
    pub task_budget: BudgetConfig,
    /// What its sessions may use up in a day, together.
    #[serde(default)]
    pub daily_budget: BudgetConfig,
    /// What its sessions may ever use up, together.
    #[serde(default)]
    pub total_budget: BudgetConfig,
    /// How its merge queue goes about it. With this, `ao pr merge` goes through the queue too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_queue: Option<MergeQueueConfig>,
    /// Whether a merge closes the issues that it settles: the one that its session works on, and those that its title, its
    /// text or its commits name behind a word such as `Closes`.
    #[serde(default = "yes")]
    pub close_merged_issues: bool,
    /// Whether its sessions go on by themselves after a provider's limit; as in `lifecycle`, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
}

/// What is done with forecasts of which branches will not merge with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConflictForecastConfig {
    /// Whether both agents are told, once, when their changes will not merge with each other.
    pub tell: bool,
    /// Whether an issue that names files which another agent changes just now waits for it, half an hour at most.
    pub hold: bool,
}

impl Default for ConflictForecastConfig {
    fn default() -> ConflictForecastConfig {
        let ao_core::forecast::ForecastConfig { tell, hold } = Default::default();
        ConflictForecastConfig { tell, hold }
    }
}

/// What is different for one kind of agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Role {
    /// Which agent it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it is started.
    pub agent_config: AgentConfig,
}

/// Files that a workspace needs: a pattern, or `{ pattern: .env*, how: symlink }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "pattern"))]
pub struct IncludeConfig {
    /// A path or pattern, relative to the root of the repository.
    pub pattern: String,
    /// How the files get into a workspace.
    #[serde(default)]
    pub how: IncludeMode,
}

/// How a file gets into a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IncludeMode {
    #[default]
    Copy,
    Symlink,
    /// A copy that shares its blocks, where the file system can; a plain copy where it cannot.
    Reflink,
}

/// What agents find in their environment besides what every program gets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EnvConfig {
    /// Variables that are passed on from the daemon's own environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass: Vec<String>,
    /// Variables with a fixed value. A value that is a whole `${NAME}` is looked up when an agent starts, and is kept in no
    /// log.
    #[schemars(extend("x-env" = "late", "x-text" = true))]
    pub set: IndexMap<String, String>,
    /// Variables whose value is looked up when an agent starts, and is kept in no log.
    #[schemars(extend("x-env" = "late"))]
    pub secrets: IndexMap<String, SecretConfig>,
}

/// Where a secret's value is found: the name of a variable, or `{ file: ~/.token }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "env"))]
pub struct SecretConfig {
    /// A variable of the daemon's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// A file that has nothing else in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("x-kind" = "path", "x-env" = "now"))]
    pub file: Option<Utf8PathBuf>,
}

/// Ports that each session gets for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortsConfig {
    /// The variables that carry them, such as `PORT` and `API_PORT`: one port for each.
    pub names: Vec<String>,
    /// The first port that may be given out.
    #[schemars(range(min = 1))]
    pub first: u16,
    /// The last one; as many as there are names, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub last: Option<u16>,
    /// Each name has one port of its own, so that only one session can run at a time.
    #[serde(default)]
    pub exclusive: bool,
}

/// How a merge queue goes about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MergeQueueConfig {
    /// How many tests run at a time, each on top of what is ahead of it.
    #[schemars(range(min = 1, max = 20))]
    pub parallel: u32,
    /// How many pull requests are tested, and land, as one. If they fail together, halves are tested until it is known whose
    /// fault that is.
    #[schemars(range(min = 1, max = 50))]
    pub batch: u32,
    /// What is done about branches that are behind and merge cleanly, while their agents are idle.
    pub update: UpdateName,
}

/// What is done about a branch that is behind and merges cleanly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateName {
    /// Nothing: the queue tests the merge anyway.
    #[default]
    None,
    /// It is rebased and pushed.
    Rebase,
}

impl Default for MergeQueueConfig {
    fn default() -> MergeQueueConfig {
        let usual = ao_core::queue::QueueRules::default();
        MergeQueueConfig { parallel: usual.parallel, batch: usual.batch, update: UpdateName::None }
    }
}

/// How much may be used up. What is absent has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BudgetConfig {
    /// Dollars, as far as the agent tells what it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub usd: Option<f64>,
    /// Tokens, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Turns of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Time that its process runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
}

fn yes() -> bool {
    true
}

fn main_branch() -> String {
    "main".into()
}

fn ten_minutes() -> Time {
    Time(ao_core::setup::Setup::default().timeout)
}
