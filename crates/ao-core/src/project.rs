//! Projects: the repositories that sessions work on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assign::{AutoAssign, SpecialistAgent};
use crate::budget::{SpendLimits, UsageTotal};
use crate::forecast::{self, Clash, ClashSide, ConflictForecast, ForecastConfig};
use crate::health::{BaseHealth, BaseVerdict, FlakyFailures, count_flake};
use crate::hook::Hook;
use crate::outside::{QuotedKind, bounded, one_line};
use crate::policy::Policy;
use crate::pull::TEXT_LIMIT;
use crate::queue::{LandingStrategy, MergeAbilities, MergeQueue, QueueRules};
use crate::reaction::ReactionPatches;
use crate::refusal::Refusal;
use crate::setup::{Environment, PortRange, Setup};
use crate::{Commit, ProjectId, SessionId, Timestamp};

/// Configuration of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProjectConfig {
    /// The main checkout of the repository.
    pub path: String,
    pub default_branch: String,
    /// Limit of its sessions that have a process at a time.
    pub max_live: Option<u32>,
    /// Budget of all its sessions together for a day.
    pub daily: SpendLimits,
    /// Budget of all sessions of one task together.
    #[serde(default, skip_serializing_if = "SpendLimits::is_empty")]
    pub per_task: SpendLimits,
    /// Budget of all its sessions together, for good.
    #[serde(default, skip_serializing_if = "SpendLimits::is_empty")]
    pub total: SpendLimits,
    /// Its sessions resume by themselves after a provider's limit; as for all projects, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    pub setup: Setup,
    pub environment: Environment,
    pub ports: Option<PortRange>,
    /// Its reactions to incidents, over those of all projects.
    #[serde(default, skip_serializing_if = "ReactionPatches::is_empty")]
    pub reactions: ReactionPatches,
    /// The same for agents by name, over those of these agents in all projects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_reactions: BTreeMap<String, ReactionPatches>,
    /// Its own commands at hook points, from the task to the merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Its use of forecasts of conflicts.
    #[serde(default, skip_serializing_if = "ForecastConfig::is_default")]
    pub conflict_forecast: ForecastConfig,
    /// Rules by which it picks up tasks by itself; it does not, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_assign: Option<AutoAssign>,
    /// Agents for certain tasks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specialists: Vec<SpecialistAgent>,
    /// Rules of its merge queue, if configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_queue: Option<QueueRules>,
    /// The guarantees of its forge when it merges, if some are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_limits: Option<MergeAbilities>,
    /// The way in which its changes land.
    #[serde(default, skip_serializing_if = "Landing::is_default")]
    pub landing: Landing,
    /// A merge leaves the issues open that it settles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_issues_open: bool,
}

/// The configured way in which changes land: squashed, and their branches stay, unless configured otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Landing {
    pub strategy: LandingStrategy,
    /// The branch of a change is deleted once it has landed.
    pub delete_branch: bool,
}

impl Landing {
    fn is_default(&self) -> bool {
        *self == Landing::default()
    }
}

/// A project, folded from the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Project {
    pub config: ProjectConfig,
    /// Set while all its work is stopped: no task begins by itself until a person starts it again.
    pub stopped: Option<StoppedWork>,
    /// Results of its workers since it was last complete.
    pub finished: FinishedWork,
    /// Time since when all its work is done, after there was some.
    pub complete: Option<Timestamp>,
    /// The last policy that was valid.
    pub policy: Policy,
    /// State of the policy beside its content.
    pub policy_stand: PolicyStand,
    /// The queue of its default branch.
    pub queue: MergeQueue,
    /// The queues of other branches, while something is requested to land on them.
    pub other_queues: BTreeMap<String, MergeQueue>,
    /// The flaky failures of its checks.
    #[serde(with = "crate::keyed")]
    pub flakes: FlakyFailures,
    /// Results of the failed checks on its base.
    pub base: BaseHealth,
    /// Changes of its repository that wait for a person's consent.
    pub suspicions: Vec<RepositorySuspicion>,
    /// The clashes that are predicted.
    pub forecast: ConflictForecast,
}

/// A change of a repository that no session has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositorySuspicion {
    /// The part that was changed; the same text is the same problem.
    pub what: String,
    /// Its new value.
    pub revision: String,
    /// Old and new value, the sessions that ran then, and the next step.
    pub detail: String,
}

/// The stop of all work of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedWork {
    pub by: String,
    pub at: Timestamp,
}

/// State of a project's policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PolicyStand {
    /// The policy was written, and is not the default.
    pub written: bool,
    /// The reason why the one on the base branch cannot be read.
    pub broken: Option<String>,
    /// Time at which a freeze may begin or end next.
    pub edge: Option<Timestamp>,
}

/// Results of workers: their number, and what they used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FinishedWork {
    pub merged: u32,
    pub stopped: u32,
    pub spent: UsageTotal,
    /// Some of it was spent by agents that do not report their cost.
    pub partly_unknown: bool,
}

/// Input for a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectInput {
    /// Adds the project, or changes its configuration.
    Configure(Box<ProjectConfig>),
    /// Removes the project.
    Remove,
    /// The policy as the base branch and the configuration have it; none if none is written.
    PolicySeen(Option<Box<Policy>>),
    /// The policy on the base branch is invalid. The previous one stays, and nothing is allowed.
    PolicyBroken { why: String },
    /// The changes of the repository that wait for a person's consent.
    RepositorySeen { suspicions: Vec<RepositorySuspicion> },
    /// A freeze may have begun or ended.
    PolicyDue,
    /// The last of its workers has ended.
    Complete,
    /// A person stops all its work: nothing begins by itself any more.
    StopWork { by: String },
    /// A person starts it again.
    StartWork { by: String },
    /// A failed check has passed on the same commit.
    Flaked { check: String, signature: String, excerpt: String },
    /// The result of a check on the base is needed.
    AskBase { branch: String, check: String, commit: Commit },
    /// The result of a check on the base.
    BaseFound { check: String, commit: Commit, verdict: BaseVerdict },
}

/// Event of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectEvent {
    /// It was added, or its configuration was changed.
    Configured { config: Box<ProjectConfig> },
    /// It has another policy, or the same is valid again.
    PolicyChanged {
        policy: Box<Policy>,
        /// None is written: it is the default.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unwritten: bool,
    },
    /// The policy on the base branch is invalid.
    PolicyBroken { why: String },
    /// Changes of the repository wait for a person's consent, or no longer.
    RepositorySuspected { suspicions: Vec<RepositorySuspicion> },
    /// A freeze has begun or ended, or the offset of its time zone has changed.
    FreezeTurned { frozen: bool },
    /// A failed check has passed on the same commit.
    Flaked { check: String, signature: String, excerpt: String },
    /// The result of a check on the base is needed.
    BaseAsked { branch: String, check: String, commit: Commit },
    /// The result of a check on the base.
    BaseFound { branch: String, check: String, commit: Commit, verdict: BaseVerdict },
    /// A person has stopped all its work, so nothing begins by itself.
    WorkStopped { by: String },
    /// A person has started it again.
    WorkStarted { by: String },
    /// All its work is done.
    Completed { finished: FinishedWork },
    /// Changes of the forecast.
    Foreseen {
        /// New clashes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<Clash>,
        /// Clashes that are about other files now, or were absent only for a moment.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Clash>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        over: Vec<(ClashSide, ClashSide)>,
        /// The sessions that have changed other files than before.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        touched: BTreeMap<SessionId, Vec<String>>,
    },
    /// It was removed.
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
                Some(known) if known.config == *config => vec![],
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
        // A result for a tip that is no longer asked about is stale.
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
            let why = bounded(QuotedKind::Log, &why, TEXT_LIMIT);
            let same = known.policy_stand.broken.as_ref() == Some(&why) && !known.queue.policy_due;
            Ok(if same { vec![] } else { vec![ProjectEvent::PolicyBroken { why }] })
        }
        (Some(known), ProjectInput::RepositorySeen { suspicions }) => {
            let bounded = |it: RepositorySuspicion| RepositorySuspicion {
                what: one_line(&it.what),
                revision: one_line(&it.revision),
                detail: bounded(QuotedKind::Log, &it.detail, TEXT_LIMIT),
            };
            let suspicions: Vec<RepositorySuspicion> = suspicions.into_iter().map(bounded).collect();
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
    pub(crate) fn new(config: ProjectConfig) -> Project {
        Project { config, ..Project::default() }
    }

    /// Folds an event into the project. Returns the time of the policy's next change, if the event may have moved it.
    pub(crate) fn evolve(&mut self, event: &ProjectEvent, at: Timestamp) -> Option<Option<Timestamp>> {
        match event {
            // The state adds, changes and removes projects.
            ProjectEvent::Configured { .. } | ProjectEvent::Removed {} => {}
            ProjectEvent::PolicyChanged { policy, unwritten } => {
                self.policy = (**policy).clone();
                self.queue.policy_due = false;
                let edge = policy.next_edge(at);
                self.policy_stand = PolicyStand { written: !unwritten, broken: None, edge };
                return Some(edge);
            }
            ProjectEvent::PolicyBroken { why } => {
                self.policy_stand.broken = Some(why.clone());
                self.queue.policy_due = false;
            }
            ProjectEvent::RepositorySuspected { suspicions } => self.suspicions.clone_from(suspicions),
            ProjectEvent::FreezeTurned { .. } => {
                self.policy_stand.edge = self.policy.next_edge(at);
                return Some(self.policy_stand.edge);
            }
            ProjectEvent::Flaked { check, signature, excerpt } => {
                count_flake(&mut self.flakes, check, signature, excerpt, at);
            }
            ProjectEvent::BaseAsked { branch, check, commit } => self.base.asked(branch, check, commit, at),
            ProjectEvent::BaseFound { branch, check, commit, verdict } => {
                self.base.found(branch, check, commit, verdict, at);
            }
            ProjectEvent::Foreseen { found, changed, over, touched } => {
                let fresh = [found.as_slice(), changed].concat();
                forecast::evolve(&mut self.forecast, &fresh, over, touched, at);
            }
            ProjectEvent::WorkStopped { by } => self.stopped = Some(StoppedWork { by: by.clone(), at }),
            ProjectEvent::WorkStarted { .. } => self.stopped = None,
            ProjectEvent::Completed { .. } => self.complete = Some(at),
        }
        None
    }

    /// Counts a worker that has ended. A part of its spending may have been counted at an earlier end.
    pub(crate) fn finish(&mut self, merged: bool, counted: UsageTotal, spent: UsageTotal) {
        let finished = &mut self.finished;
        match merged {
            true => finished.merged = finished.merged.saturating_add(1),
            false => finished.stopped = finished.stopped.saturating_add(1),
        }
        finished.spent = finished.spent.add_growth(counted, spent);
        finished.partly_unknown |= spent.micros.is_none();
    }

    /// Counts a worker that works again after its end.
    pub(crate) fn resume(&mut self, merged: bool) {
        let finished = &mut self.finished;
        match merged {
            true => finished.merged = finished.merged.saturating_sub(1),
            false => finished.stopped = finished.stopped.saturating_sub(1),
        }
    }

    /// Returns true if work was done here and its completion has not been reported.
    pub(crate) fn may_complete(&self) -> bool {
        self.complete.is_none() && (self.finished.merged > 0 || self.finished.stopped > 0)
    }

    /// Begins new work after completion.
    pub(crate) fn begin(&mut self) {
        if self.complete.take().is_some() {
            self.finished = FinishedWork::default();
        }
    }
}
