//! The state, folded from the log, with the indexes that keep every query short.

mod asked;
mod evolve;
mod index;
mod timers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::budget::{BudgetScope, BudgetUsage};
use crate::digest::DailyTally;
use crate::incident::{Incident, IncidentKey, IncidentKind};
use crate::job::Job;
use crate::notice::{ChannelRecord, Notice};
use crate::project::Project;
use crate::pull::Pull;
use crate::reaction::{ConditionJudge, IDLE_AFTER, threshold};
use crate::session::Session;
use crate::settings::DaemonSettings;
use crate::task::Task;
use crate::{Attempt, JobId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp};

pub(crate) use index::QueuePosition;
use index::{IndexFootprint, StateIndex};
pub(crate) use timers::StateTimer;

/// Format version of a snapshot. A snapshot of another version is ignored in favour of the log, which retention may have cut
/// short; so a release that changes the format has to read the one before.
pub const SNAPSHOT_FORMAT: u32 = 1;

/// The state of everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    /// Time of the last event.
    pub at: Timestamp,
    pub settings: DaemonSettings,
    pub projects: BTreeMap<ProjectId, Project>,
    pub tasks: BTreeMap<TaskId, Task>,
    /// Hashed, so that a lookup among ten thousand is as fast as among ten; insertion order makes replays equal.
    pub sessions: IndexMap<SessionId, Box<Session>, FxBuildHasher>,
    pub pulls: BTreeMap<PullId, Box<Pull>>,
    #[serde(with = "crate::keyed")]
    pub incidents: BTreeMap<IncidentKey, Incident>,
    pub notices: BTreeMap<NoticeId, Notice>,
    /// Last results of the channels.
    pub channels: BTreeMap<String, ChannelRecord>,
    pub jobs: BTreeMap<JobId, Job>,
    /// Accounts that may not be used, with the end of their limit.
    pub accounts: BTreeMap<String, Timestamp>,
    /// Limits in a row of each account, and the end of the last one.
    pub limits_seen: BTreeMap<String, LimitsSeen>,
    /// Usage of the budgets that several sessions share. Hashed as sessions are: each turn is counted in four.
    pub budget_usage: IndexMap<BudgetScope, BudgetUsage, FxBuildHasher>,
    /// The tasks that had a session. They get no second one automatically, even if they are reopened.
    pub worked: BTreeSet<TaskId>,
    /// The tasks that no agent could be given.
    pub unassigned: BTreeMap<TaskId, UnassignedTask>,
    /// Results of each project since the last daily digest.
    pub tally: BTreeMap<ProjectId, DailyTally>,
    /// The free memory when it was last too low.
    pub scarce_mb: Option<u64>,
    /// Processes that should not exist, with their runtime.
    pub strays: BTreeSet<(SessionId, Attempt, String)>,
    notice_keys: VecDeque<String>,
    next_notice: u64,
    next_job: u64,
    #[serde(skip)]
    judge: ConditionJudge,
    #[serde(skip)]
    index: StateIndex,
}

/// Limits in a row of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsSeen {
    pub times: u32,
    pub until: Timestamp,
}

/// A task that no agent could be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnassignedTask {
    pub why: String,
    pub at: Timestamp,
}

impl State {
    /// Returns the same state with a judge for the conditions of reactions.
    #[must_use]
    pub fn judged_by(self, judge: ConditionJudge) -> State {
        State { judge, ..self }
    }

    /// Removes an incident as if it had never existed. Only for dry runs; the log is unaffected.
    pub(crate) fn forget_incident(&mut self, key: &IncidentKey) {
        self.incidents.remove(key);
        self.index.timers.set(StateTimer::Incident(key.clone()), None);
    }

    /// Reads a state from a snapshot and rebuilds its indexes.
    pub fn from_snapshot(body: &[u8]) -> Result<State, serde_json::Error> {
        // As text, like the events: the two share most of their types, and so the code that reads them.
        let text = std::str::from_utf8(body).map_err(serde::de::Error::custom)?;
        let mut state: State = serde_json::from_str(text)?;
        state.reindex();
        Ok(state)
    }

    pub fn to_snapshot(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("the state is plain data with string keys")
    }

    fn reindex(&mut self) {
        self.index = StateIndex::default();
        for (id, session) in &self.sessions {
            self.index.names.insert(session.spec.name.clone(), *id);
            self.index.enter(session, IndexFootprint::of(session));
            self.index.mark_idle(session);
            let idle_after = idle_after(&self.settings, &self.projects, session);
            let counts = counts_time(&self.settings, &self.projects, session);
            self.index.timers.set(StateTimer::Session(*id), session.due(&self.settings, idle_after, counts));
        }
        self.index.jobs = self.jobs.iter().map(|(id, job)| (job.key.clone(), *id)).collect();
        self.index.told = self.notice_keys.iter().cloned().collect();
        for (id, notice) in &self.notices {
            if let Some(key) = &notice.incident {
                self.index.notices.entry(key.clone()).or_default().insert(*id);
            }
        }
        let capped = self.budget_usage.iter().filter(|(_, usage)| usage.cap.is_some());
        self.index.capped = capped.map(|(budget, _)| budget.clone()).collect();
        let timers = self
            .incidents
            .values()
            .map(|incident| (StateTimer::Incident(incident.key.clone()), incident.due))
            .chain(self.notices.values().map(|notice| (StateTimer::Notice(notice.id), notice.due())))
            .chain(self.jobs.values().map(|job| (StateTimer::Job(job.id), job.again_at)))
            .chain(
                self.budget_usage
                    .iter()
                    .map(|(budget, usage)| (StateTimer::Budget(budget.clone()), usage.due())),
            )
            .chain(
                self.accounts
                    .iter()
                    .map(|(account, until)| (StateTimer::Account(account.clone()), Some(*until))),
            )
            .chain(
                self.projects
                    .iter()
                    .map(|(id, known)| (StateTimer::Policy(id.clone()), known.policy_stand.edge)),
            )
            .chain(
                self.projects
                    .iter()
                    .map(|(id, known)| (StateTimer::Queue(id.clone()), known.queue.again_at())),
            )
            .collect::<Vec<_>>();
        for (timer, due) in timers {
            self.index.timers.set(timer, due);
        }
    }
}

/// Returns true if a budget that the session shares is one of time.
fn counts_time(
    settings: &DaemonSettings,
    projects: &BTreeMap<ProjectId, Project>,
    session: &Session,
) -> bool {
    let project = projects.get(&session.spec.project);
    let of_project = project
        .into_iter()
        .flat_map(|project| [project.config.daily, project.config.total, project.config.per_task]);
    of_project.chain([settings.daily]).any(|limits| limits.seconds.is_some())
}

fn idle_after(
    settings: &DaemonSettings,
    projects: &BTreeMap<ProjectId, Project>,
    session: &Session,
) -> Duration {
    let project = projects.get(&session.spec.project);
    threshold(&IncidentKind::AgentIdle, settings, project, &session.spec.agent).unwrap_or(IDLE_AFTER)
}
