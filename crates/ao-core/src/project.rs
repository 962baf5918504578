//! A repository under our care.

use serde::{Deserialize, Serialize};

use crate::budget::{Limits, Spend};
use crate::health::{BaseHealth, BaseVerdict, Flakes};
use crate::hook::Hook;
use crate::policy::Policy;
use crate::queue::MergeQueue;
use crate::reaction::Reactions;
use crate::refusal::Refusal;
use crate::setup::{Environment, PortRange, Setup};
use crate::{Commit, ProjectId, Timestamp};

/// What the configuration says of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProjectConfig {
    /// The repository's own folder.
    pub path: String,
    pub default_branch: String,
    /// How many of its sessions may have a process at a time.
    pub max_live: Option<u32>,
    /// What its sessions may use up in a day, together.
    #[serde(default)]
    pub daily: Limits,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub ports: Option<PortRange>,
    /// What is done about its problems, over what holds for all.
    #[serde(default, skip_serializing_if = "Reactions::is_empty")]
    pub reactions: Reactions,
    /// Its own commands on the way from a task to a merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
}

/// A project as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub path: String,
    pub default_branch: String,
    pub max_live: Option<u32>,
    pub daily: Limits,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub ports: Option<PortRange>,
    /// What is done about its problems, over what holds for all.
    #[serde(default, skip_serializing_if = "Reactions::is_empty")]
    pub reactions: Reactions,
    /// Its own commands on the way from a task to a merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    pub day: i64,
    /// What its sessions have used up on that day.
    pub spent: Spend,
    /// Set while a daily limit is reached, to the end of that day.
    pub capped_until: Option<Timestamp>,
    pub policy: Policy,
    pub queue: MergeQueue,
    /// The failures of its checks that were chance.
    #[serde(default, skip_serializing_if = "Flakes::is_empty")]
    pub flakes: Flakes,
    /// Whether its base passes the checks that failed.
    #[serde(default)]
    pub base: BaseHealth,
}

/// What can come in for a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectInput {
    Configure(Box<ProjectConfig>),
    Remove,
    /// The policy as the base branch has it.
    PolicySeen(Box<Policy>),
    /// One of its sessions has used something up.
    CountSpend,
    /// A check that failed has passed on the same commit.
    Flaked {
        check: String,
        signature: String,
        excerpt: String,
    },
    /// Somebody wants to know whether the base passes a check.
    AskBase {
        branch: String,
        check: String,
        commit: Commit,
    },
    /// Whether it does.
    BaseFound {
        check: String,
        commit: Commit,
        verdict: BaseVerdict,
    },
    Due,
}

/// What happened to a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectEvent {
    Configured { config: Box<ProjectConfig> },
    PolicyChanged { policy: Box<Policy> },
    Capped { until: Timestamp, why: String },
    Uncapped {},
    Flaked { check: String, signature: String, excerpt: String },
    BaseAsked { branch: String, check: String, commit: Commit },
    BaseFound { branch: String, check: String, commit: Commit, verdict: BaseVerdict },
    Removed {},
}

pub(crate) fn decide(
    id: &ProjectId,
    known: Option<&Project>,
    in_use: impl FnOnce() -> usize,
    now: Timestamp,
    input: ProjectInput,
) -> Result<Vec<ProjectEvent>, Refusal> {
    match (known, input) {
        (known, ProjectInput::Configure(config)) => {
            let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            if id.as_str().is_empty() || id.as_str().contains(odd) {
                return Err(Refusal::Invalid {
                    what: format!("`{id}` is no project name: letters, digits, `-`, `_` and `.` only"),
                });
            }
            if config.path.is_empty() {
                return Err(Refusal::Invalid { what: format!("the project `{id}` has no path") });
            }
            if let Some(ports) = &config.ports {
                let room = usize::from(ports.end().saturating_sub(ports.first)) + 1;
                if ports.names.is_empty()
                    || ports.first == 0
                    || ports.end() < ports.first
                    || room < ports.names.len()
                {
                    return Err(Refusal::Invalid {
                        what: format!(
                            "the ports of `{id}` make no sense: {} names, ports {} to {}",
                            ports.names.len(),
                            ports.first,
                            ports.end()
                        ),
                    });
                }
            }
            Ok(match known {
                Some(known) if known.config() == *config => vec![],
                _ => vec![ProjectEvent::Configured { config }],
            })
        }
        (None, _) => Err(Refusal::UnknownProject(id.clone())),
        (Some(_), ProjectInput::Remove) => match in_use() {
            0 => Ok(vec![ProjectEvent::Removed {}]),
            sessions => Err(Refusal::ProjectInUse { project: id.clone(), sessions }),
        },
        (Some(_), ProjectInput::Flaked { check, signature, excerpt }) => {
            Ok(vec![ProjectEvent::Flaked { check, signature, excerpt }])
        }
        (Some(known), ProjectInput::AskBase { branch, check, commit }) => {
            Ok(match known.base.needs(&branch, &check, &commit) {
                true => vec![ProjectEvent::BaseAsked { branch, check, commit }],
                false => vec![],
            })
        }
        // An answer about a tip that nobody asks about any more says nothing.
        (Some(known), ProjectInput::BaseFound { check, commit, verdict }) => {
            let verdict = verdict.bounded();
            let branches = known.base.waiting(&check, &commit).into_iter();
            Ok(branches
                .map(|branch| ProjectEvent::BaseFound {
                    branch,
                    check: check.clone(),
                    commit: commit.clone(),
                    verdict: verdict.clone(),
                })
                .collect())
        }
        (Some(known), ProjectInput::PolicySeen(policy)) if known.policy == *policy => Ok(vec![]),
        (Some(known), ProjectInput::CountSpend) => Ok(match known.daily.reached(&known.spent) {
            Some(reached) if known.capped_until.is_none() && day_of(now) == known.day => {
                vec![ProjectEvent::Capped {
                    until: day_start(known.day + 1),
                    why: format!("today's budget of `{id}` is spent: {reached}"),
                }]
            }
            _ => vec![],
        }),
        (Some(known), ProjectInput::Due) if known.capped_until.is_some_and(|until| until <= now) => {
            Ok(vec![ProjectEvent::Uncapped {}])
        }
        (Some(_), ProjectInput::Due) => Ok(vec![]),
        (Some(_), ProjectInput::PolicySeen(policy)) => Ok(vec![ProjectEvent::PolicyChanged { policy }]),
    }
}

impl Project {
    pub(crate) fn new(config: &ProjectConfig) -> Project {
        Project {
            path: config.path.clone(),
            default_branch: config.default_branch.clone(),
            max_live: config.max_live,
            daily: config.daily,
            setup: config.setup.clone(),
            environment: config.environment.clone(),
            ports: config.ports.clone(),
            reactions: config.reactions.clone(),
            hooks: config.hooks.clone(),
            day: 0,
            spent: Spend::default(),
            capped_until: None,
            policy: Policy::default(),
            queue: MergeQueue::default(),
            flakes: Flakes::new(),
            base: BaseHealth::default(),
        }
    }

    pub(crate) fn configure(&mut self, config: &ProjectConfig) {
        self.path = config.path.clone();
        self.default_branch = config.default_branch.clone();
        self.max_live = config.max_live;
        self.daily = config.daily;
        self.setup = config.setup.clone();
        self.environment = config.environment.clone();
        self.ports = config.ports.clone();
        self.reactions = config.reactions.clone();
        self.hooks = config.hooks.clone();
    }

    fn config(&self) -> ProjectConfig {
        ProjectConfig {
            path: self.path.clone(),
            default_branch: self.default_branch.clone(),
            max_live: self.max_live,
            daily: self.daily,
            setup: self.setup.clone(),
            environment: self.environment.clone(),
            ports: self.ports.clone(),
            reactions: self.reactions.clone(),
            hooks: self.hooks.clone(),
        }
    }

    /// Counts what one of its sessions used up on top, into the day it was seen on.
    pub(crate) fn spend(&mut self, at: Timestamp, before: Spend, after: Spend) {
        let day = day_of(at);
        if day != self.day {
            self.day = day;
            self.spent = Spend::default();
        }
        self.spent = self.spent.add_growth(before, after);
    }
}

fn day_start(day: i64) -> Timestamp {
    Timestamp(day.saturating_mul(86_400_000))
}

/// The day by UTC; a person's own midnight is the configuration's to know.
fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(86_400_000)
}
