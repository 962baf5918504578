//! A repository under our care.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assign::{AutoAssign, Specialist};
use crate::budget::{Limits, Spend};
use crate::forecast::{Clash, Forecast, ForecastConfig, Side};
use crate::health::{BaseHealth, BaseVerdict, Flakes};
use crate::hook::Hook;
use crate::outside::{Kind, bounded, one_line};
use crate::policy::Policy;
use crate::pull::TEXT_LIMIT;
use crate::queue::{MergeQueue, QueueRules};
use crate::reaction::Reactions;
use crate::refusal::Refusal;
use crate::setup::{Environment, PortRange, Setup};
use crate::{Commit, ProjectId, SessionId, Timestamp};

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
    /// What all sessions of one task may use up, together.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub per_task: Limits,
    /// What all its sessions may ever use up.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub total: Limits,
    /// Whether its sessions go on by themselves after a provider's limit; as for all projects, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub ports: Option<PortRange>,
    /// What is done about its problems, over what holds for all.
    #[serde(default, skip_serializing_if = "Reactions::is_empty")]
    pub reactions: Reactions,
    /// The same for agents by their names, over what holds for these in all projects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_reactions: BTreeMap<String, Reactions>,
    /// Its own commands on the way from a task to a merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// What is done with forecasts of conflicts.
    #[serde(default, skip_serializing_if = "ForecastConfig::is_default")]
    pub conflict_forecast: ForecastConfig,
    /// How it picks up tasks by itself; it does not, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_assign: Option<AutoAssign>,
    /// The agents that are for certain tasks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specialists: Vec<Specialist>,
    /// How its merge queue goes about it, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_queue: Option<QueueRules>,
    /// Whether a merge leaves the issues open that it settles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_issues_open: bool,
}

/// A project as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub path: String,
    pub default_branch: String,
    pub max_live: Option<u32>,
    pub daily: Limits,
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub per_task: Limits,
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub total: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub ports: Option<PortRange>,
    /// What is done about its problems, over what holds for all.
    #[serde(default, skip_serializing_if = "Reactions::is_empty")]
    pub reactions: Reactions,
    /// The same for agents by their names, over what holds for these in all projects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_reactions: BTreeMap<String, Reactions>,
    /// Its own commands on the way from a task to a merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    #[serde(default, skip_serializing_if = "ForecastConfig::is_default")]
    pub conflict_forecast: ForecastConfig,
    /// How it picks up tasks by itself; it does not, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_assign: Option<AutoAssign>,
    /// The agents that are for certain tasks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specialists: Vec<Specialist>,
    /// How its merge queue goes about it, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_queue: Option<QueueRules>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_issues_open: bool,
    /// Who has stopped all its work, so that no task is begun without anybody's word until somebody starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedWork>,
    /// What has become of its workers since it was last at an end.
    #[serde(default)]
    pub finished: Finished,
    /// Since when nobody has had anything left to do in it, after somebody had.
    #[serde(default)]
    pub complete: Option<Timestamp>,
    /// The policy that was last read and made sense.
    pub policy: Policy,
    /// How it is with the policy beside what it says.
    #[serde(default, skip_serializing_if = "PolicyStand::is_plain")]
    pub policy_stand: PolicyStand,
    /// The queue of its default branch.
    pub queue: MergeQueue,
    /// The queues of other branches, while something is requested to land on them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_queues: BTreeMap<String, MergeQueue>,
    /// The failures of its checks that were chance.
    #[serde(default, skip_serializing_if = "Flakes::is_empty")]
    pub flakes: Flakes,
    /// Whether its base passes the checks that failed.
    #[serde(default)]
    pub base: BaseHealth,
    /// What was changed in its repository and waits for a person's word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspicions: Vec<Suspicion>,
    /// Who will not merge with whom.
    #[serde(default, skip_serializing_if = "Forecast::is_empty")]
    pub forecast: Forecast,
}

/// A change of a repository that nobody of ours has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// What was changed, in a few words; the same words are the same problem.
    pub what: String,
    /// What it was changed to.
    pub revision: String,
    /// From what to what, who was at work then, and what to do.
    pub detail: String,
}

/// That somebody has stopped all work of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedWork {
    pub by: String,
    pub at: Timestamp,
}

/// How it is with a project's policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PolicyStand {
    /// Somebody has written one.
    #[serde(default)]
    pub written: bool,
    /// Why the one on the base branch cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// When a freeze may begin or end next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Timestamp>,
}

impl PolicyStand {
    fn is_plain(&self) -> bool {
        *self == PolicyStand::default()
    }
}

/// What has become of workers: how many, and what they used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Finished {
    pub merged: u32,
    pub stopped: u32,
    pub spent: Spend,
    /// Some of it was spent by agents that do not tell what they cost.
    pub partly_unknown: bool,
}

/// What can come in for a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectInput {
    Configure(Box<ProjectConfig>),
    Remove,
    /// The policy as the base branch and the configuration have it; none if nobody has written one.
    PolicySeen(Option<Box<Policy>>),
    /// The policy on the base branch makes no sense. The one before stays, and nothing is allowed by it.
    PolicyBroken {
        why: String,
    },
    /// What was found changed in the repository and waits for a person's word; none if nothing is.
    RepositorySeen {
        suspicions: Vec<Suspicion>,
    },
    /// A freeze may have begun or ended.
    PolicyDue,
    /// The last of its workers has ended.
    Complete,
    /// Somebody stops all its work: nothing is begun without anybody's word any more.
    StopWork {
        by: String,
    },
    /// Somebody starts again.
    StartWork {
        by: String,
    },
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
}

/// What happened to a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectEvent {
    Configured {
        config: Box<ProjectConfig>,
    },
    PolicyChanged {
        policy: Box<Policy>,
        /// Nobody has written one: it is the default.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unwritten: bool,
    },
    PolicyBroken {
        why: String,
    },
    /// Changes of the repository wait for a person's word, or do not any more.
    RepositorySuspected {
        suspicions: Vec<Suspicion>,
    },
    /// A freeze has begun or ended, or the clocks were changed.
    FreezeTurned {
        frozen: bool,
    },
    /// How the budget of a day was told before there were others; now it is an event of that budget.
    Capped {
        until: Timestamp,
        why: String,
    },
    Uncapped {},
    Flaked {
        check: String,
        signature: String,
        excerpt: String,
    },
    BaseAsked {
        branch: String,
        check: String,
        commit: Commit,
    },
    BaseFound {
        branch: String,
        check: String,
        commit: Commit,
        verdict: BaseVerdict,
    },
    /// Somebody has stopped all its work, so that nothing is begun without anybody's word.
    WorkStopped {
        by: String,
    },
    /// Somebody has started again.
    WorkStarted {
        by: String,
    },
    /// Nobody has anything left to do in it.
    Completed {
        finished: Finished,
    },
    /// What a forecast says that the one before it did not.
    Foreseen {
        /// Clashes that are new.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<Clash>,
        /// Clashes that are about other files now, or were gone for a moment only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Clash>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        over: Vec<(Side, Side)>,
        /// The sessions that have changed other files than before.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        touched: BTreeMap<SessionId, Vec<String>>,
    },
    Removed {},
}

pub(crate) fn decide(
    id: &ProjectId,
    known: Option<&Project>,
    now: Timestamp,
    in_use: impl FnOnce() -> usize,
    input: ProjectInput,
) -> Result<Vec<ProjectEvent>, Refusal> {
    match (known, input) {
        (known, ProjectInput::Configure(config)) => {
            let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            if id.as_str().is_empty() || id.as_str().contains(odd) {
                return Err(Refusal::Invalid {
                    what: format!(
                        "`{id}` is not a valid project name: use letters, digits, `-`, `_` and `.` only"
                    ),
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
        (Some(known), ProjectInput::Complete) => Ok(match known.may_complete() {
            true => vec![ProjectEvent::Completed { finished: known.finished }],
            false => vec![],
        }),
        (Some(known), ProjectInput::StopWork { by }) => Ok(match known.stopped {
            None => vec![ProjectEvent::WorkStopped { by }],
            Some(_) => vec![],
        }),
        (Some(known), ProjectInput::StartWork { by }) => Ok(match known.stopped {
            Some(_) => vec![ProjectEvent::WorkStarted { by }],
            None => vec![],
        }),
        (Some(known), ProjectInput::PolicySeen(policy)) => {
            let unwritten = policy.is_none();
            let policy = policy.unwrap_or_default();
            let same = known.policy == *policy
                && known.policy_stand.written != unwritten
                && known.policy_stand.broken.is_none()
                && !known.queue.policy_due;
            Ok(if same { vec![] } else { vec![ProjectEvent::PolicyChanged { policy, unwritten }] })
        }
        (Some(known), ProjectInput::PolicyBroken { why }) => {
            let why = bounded(Kind::Log, &why, TEXT_LIMIT);
            let same = known.policy_stand.broken.as_ref() == Some(&why) && !known.queue.policy_due;
            Ok(if same { vec![] } else { vec![ProjectEvent::PolicyBroken { why }] })
        }
        (Some(known), ProjectInput::RepositorySeen { suspicions }) => {
            let bounded = |it: Suspicion| Suspicion {
                what: one_line(&it.what),
                revision: one_line(&it.revision),
                detail: bounded(Kind::Log, &it.detail, TEXT_LIMIT),
            };
            let suspicions: Vec<Suspicion> = suspicions.into_iter().map(bounded).collect();
            Ok(match known.suspicions == suspicions {
                true => vec![],
                false => vec![ProjectEvent::RepositorySuspected { suspicions }],
            })
        }
        (Some(known), ProjectInput::PolicyDue) => Ok(match known.policy_stand.edge {
            Some(edge) if edge <= now => {
                vec![ProjectEvent::FreezeTurned { frozen: known.policy.is_frozen(now) }]
            }
            _ => vec![],
        }),
    }
}

impl Project {
    pub(crate) fn new(config: &ProjectConfig) -> Project {
        Project {
            path: config.path.clone(),
            default_branch: config.default_branch.clone(),
            max_live: config.max_live,
            daily: config.daily,
            per_task: config.per_task,
            total: config.total,
            auto_resume: config.auto_resume,
            setup: config.setup.clone(),
            environment: config.environment.clone(),
            ports: config.ports.clone(),
            reactions: config.reactions.clone(),
            agent_reactions: config.agent_reactions.clone(),
            hooks: config.hooks.clone(),
            conflict_forecast: config.conflict_forecast,
            auto_assign: config.auto_assign.clone(),
            specialists: config.specialists.clone(),
            merge_queue: config.merge_queue.clone(),
            leave_issues_open: config.leave_issues_open,
            stopped: None,
            finished: Finished::default(),
            complete: None,
            policy: Policy::default(),
            policy_stand: PolicyStand::default(),
            queue: MergeQueue::default(),
            other_queues: BTreeMap::new(),
            flakes: Flakes::new(),
            base: BaseHealth::default(),
            suspicions: vec![],
            forecast: Forecast::default(),
        }
    }

    pub(crate) fn configure(&mut self, config: &ProjectConfig) {
        self.path = config.path.clone();
        self.default_branch = config.default_branch.clone();
        self.max_live = config.max_live;
        self.daily = config.daily;
        self.per_task = config.per_task;
        self.total = config.total;
        self.auto_resume = config.auto_resume;
        self.setup = config.setup.clone();
        self.environment = config.environment.clone();
        self.ports = config.ports.clone();
        self.reactions = config.reactions.clone();
        self.agent_reactions = config.agent_reactions.clone();
        self.hooks = config.hooks.clone();
        self.conflict_forecast = config.conflict_forecast;
        self.auto_assign = config.auto_assign.clone();
        self.specialists = config.specialists.clone();
        self.merge_queue = config.merge_queue.clone();
        self.leave_issues_open = config.leave_issues_open;
    }

    fn config(&self) -> ProjectConfig {
        ProjectConfig {
            path: self.path.clone(),
            default_branch: self.default_branch.clone(),
            max_live: self.max_live,
            daily: self.daily,
            per_task: self.per_task,
            total: self.total,
            auto_resume: self.auto_resume,
            setup: self.setup.clone(),
            environment: self.environment.clone(),
            ports: self.ports.clone(),
            reactions: self.reactions.clone(),
            agent_reactions: self.agent_reactions.clone(),
            hooks: self.hooks.clone(),
            conflict_forecast: self.conflict_forecast,
            auto_assign: self.auto_assign.clone(),
            specialists: self.specialists.clone(),
            merge_queue: self.merge_queue.clone(),
            leave_issues_open: self.leave_issues_open,
        }
    }

    /// Counts a worker that has come to its end. What it has spent may have been counted in part, at an earlier end of it.
    pub(crate) fn finish(&mut self, merged: bool, counted: Spend, spent: Spend) {
        let finished = &mut self.finished;
        match merged {
            true => finished.merged = finished.merged.saturating_add(1),
            false => finished.stopped = finished.stopped.saturating_add(1),
        }
        finished.spent = finished.spent.add_growth(counted, spent);
        finished.partly_unknown |= spent.micros.is_none();
    }

    /// A worker that was at its end is at work again.
    pub(crate) fn resume(&mut self, merged: bool) {
        let finished = &mut self.finished;
        match merged {
            true => finished.merged = finished.merged.saturating_sub(1),
            false => finished.stopped = finished.stopped.saturating_sub(1),
        }
    }

    /// Something was done here, and it has not been said yet that this was all.
    pub(crate) fn may_complete(&self) -> bool {
        self.complete.is_none() && (self.finished.merged > 0 || self.finished.stopped > 0)
    }

    /// There is work again.
    pub(crate) fn begin(&mut self) {
        if self.complete.take().is_some() {
            self.finished = Finished::default();
        }
    }
}
