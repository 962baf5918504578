//! All that is known, folded from the log, with the indexes that keep every question short.

mod earlier;
mod index;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::budget::{self, Budget, BudgetEvent, Limits, Purse, Spend};
use crate::digest::{self, Tally};
use crate::errand::{self, Behalf, Errand, ErrandEvent, ErrandOutcome};
use crate::event::{AccountEvent, Event, HostEvent, Stamped};
use crate::forecast;
use crate::health::count_flake;
use crate::incident::{self, Incident, IncidentEvent, IncidentKey, IncidentKind, Subject};
use crate::notice::{self, ChannelRecord, Notice, NoticeEvent};
use crate::project::{PolicyStand, Project, ProjectEvent};
use crate::pull::{self, Pull};
use crate::queue;
use crate::reaction::{IDLE_AFTER, Judge, threshold};
use crate::session::{self, Session, SessionEvent};
use crate::settings::Settings;
use crate::task::{Task, TaskEvent};
use crate::{Attempt, ConversationId, ErrandId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp};

use index::{Footprint, Index, release};
pub(crate) use index::{Place, Timer};

/// How many keys of past notices are remembered, to tell people everything once.
const NOTICE_KEYS: usize = 1024;

/// How many tasks that had a session are remembered, beside those that are open.
const WORKED: usize = 16 * 1024;

/// The shape of an encoded state. A snapshot of another shape is passed over for the log, which retention may have cut
/// short; so a new field gets a default, and a new shape a step that reads the old one.
pub const SNAPSHOT_FORMAT: u32 = 1;

/// All that is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    /// When the last event happened.
    pub at: Timestamp,
    pub settings: Settings,
    pub projects: BTreeMap<ProjectId, Project>,
    pub tasks: BTreeMap<TaskId, Task>,
    /// Hashed, because a fleet of ten thousand is looked up as fast as one of ten; in an order that replays alike.
    pub sessions: IndexMap<SessionId, Box<Session>, FxBuildHasher>,
    pub pulls: BTreeMap<PullId, Box<Pull>>,
    #[serde(with = "by_key")]
    pub incidents: BTreeMap<IncidentKey, Incident>,
    pub notices: BTreeMap<NoticeId, Notice>,
    /// How the channels have fared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, ChannelRecord>,
    #[serde(default)]
    pub errands: BTreeMap<ErrandId, Errand>,
    /// Accounts that may not be used, and until when.
    pub accounts: BTreeMap<String, Timestamp>,
    /// How often in a row accounts were limited, and until when the last time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits_seen: BTreeMap<String, LimitsSeen>,
    /// What has been spent of budgets that several sessions share.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub purses: BTreeMap<Budget, Purse>,
    /// The tasks that have had a session. They get no second one by themselves, also if they are opened again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub worked: BTreeSet<TaskId>,
    /// The tasks that could not be given to anybody.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unassigned: BTreeMap<TaskId, Unassigned>,
    /// What has happened in each project since the day was last told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tally: BTreeMap<ProjectId, Tally>,
    /// Free memory when it was last too little.
    pub scarce_mb: Option<u64>,
    /// Processes that should not be, with their runtime.
    pub strays: BTreeSet<(SessionId, Attempt, String)>,
    notice_keys: VecDeque<String>,
    next_notice: u64,
    #[serde(default)]
    next_errand: u64,
    #[serde(skip)]
    judge: Judge,
    #[serde(skip)]
    index: Index,
}

/// How often in a row a provider refused an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsSeen {
    pub times: u32,
    pub until: Timestamp,
}

/// That a task could not be given to anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unassigned {
    pub why: String,
    pub at: Timestamp,
}

/// A limit that comes so soon after the last one is the next of a row.
const IN_A_ROW: Duration = Duration::from_secs(3600);

impl State {
    /// Folds one event into the state. Cannot fail, and acts on nothing.
    pub fn evolve(&mut self, stamped: &Stamped) {
        let at = stamped.at;
        self.at = self.at.max(at);
        match &stamped.event {
            Event::Host(event) => self.evolve_host(event),
            Event::Account(account, AccountEvent::Limited { until }) => {
                let in_force = self.accounts.insert(account.clone(), *until).is_some();
                let times = self.limits_in_row(account, at) + u32::from(!in_force);
                self.limits_seen.insert(account.clone(), LimitsSeen { times, until: *until });
                self.index.set_timer(Timer::Account(account.clone()), Some(*until));
            }
            Event::Account(account, AccountEvent::Reset {}) => {
                self.accounts.remove(account);
                self.index.set_timer(Timer::Account(account.clone()), None);
            }
            Event::Project(id, event) => self.evolve_project(id, event, at),
            Event::Task(id, TaskEvent::Seen { facts }) => {
                self.tasks.insert(id.clone(), facts.clone());
                self.unassigned.remove(id);
            }
            // It is asked for no more, nor is what was spent on it, unless a session of it is still here to be looked at.
            Event::Task(id, TaskEvent::Closed {}) => {
                if !self.sessions.values().any(|session| session.spec.task.as_ref() == Some(id)) {
                    self.forget_task(id);
                }
            }
            Event::Session(id, event) => self.evolve_session(*id, event, at),
            Event::Pull(id, event) => {
                let mut pull = self.pulls.remove(id).map(|pull| *pull);
                pull::evolve(&mut pull, id, event, at);
                // What is over and nobody's is history, and history is on disk.
                if let Some(pull) = pull.filter(|pull| pull.is_open() || pull.owner.is_some()) {
                    self.pulls.insert(id.clone(), Box::new(pull));
                }
            }
            Event::Queue(id, event) => {
                if let Some(project) = self.projects.get_mut(id) {
                    queue::evolve(&mut project.queue, event, at);
                    self.index.set_timer(Timer::Queue(id.clone()), project.queue.again_at());
                }
            }
            Event::Incident(key, event) => self.evolve_incident(key, event, at),
            Event::Notice(id, event) => self.evolve_notice(*id, event, at),
            Event::Errand(id, event) => self.evolve_errand(*id, event, at),
            Event::Budget(budget, event) => self.evolve_budget(budget, event, at),
        }
    }

    /// The same state, with somebody to judge the conditions of reactions.
    #[must_use]
    pub fn judged_by(self, judge: Judge) -> State {
        State { judge, ..self }
    }

    /// Goes on as if there had never been this incident. For finding out what would be; the log knows better.
    pub(crate) fn forget_incident(&mut self, key: &IncidentKey) {
        self.incidents.remove(key);
        self.index.set_timer(Timer::Incident(key.clone()), None);
    }

    /// Reads a state from a snapshot and makes its indexes anew.
    pub fn from_snapshot(body: &[u8]) -> Result<State, serde_json::Error> {
        let mut state: State = serde_json::from_slice(body)?;
        earlier::read(&mut state, body)?;
        state.reindex();
        Ok(state)
    }

    pub fn to_snapshot(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("the state is plain data with string keys")
    }

    // ── questions ──

    pub fn session_named(&self, name: &str) -> Option<&Session> {
        self.index.names.get(name).and_then(|id| self.sessions.get(id)).map(|session| &**session)
    }

    /// The session that works on a task, if one does.
    pub fn live_session_of(&self, task: &TaskId) -> Option<SessionId> {
        self.index.tasks.get(task).copied()
    }

    pub fn owner_of_path(&self, path: &str) -> Option<SessionId> {
        self.index.paths.get(path).copied()
    }

    pub fn owner_of_branch(&self, project: &ProjectId, branch: &str) -> Option<SessionId> {
        self.index.branches.get(&(project.clone(), branch.to_owned())).copied()
    }

    pub fn owner_of_conversation(&self, conversation: &ConversationId) -> Option<SessionId> {
        self.index.conversations.get(conversation).copied()
    }

    /// The budgets that a session shares with others.
    pub fn budgets_of(&self, session: &Session) -> Vec<Budget> {
        let project = &session.spec.project;
        let of_task = session.spec.task.clone().map(Budget::Task);
        let wider = [Budget::Project(project.clone()), Budget::ProjectDay(project.clone()), Budget::Day];
        of_task.into_iter().chain(wider).collect()
    }

    /// The limits that the configuration sets for a budget.
    pub fn limits_of(&self, budget: &Budget) -> Limits {
        let project = |id: &ProjectId| self.projects.get(id);
        match budget {
            Budget::Task(task) => project(&task.project).map(|project| project.per_task),
            Budget::Project(id) => project(id).map(|project| project.total),
            Budget::ProjectDay(id) => project(id).map(|project| project.daily),
            Budget::Day => Some(self.settings.daily),
        }
        .unwrap_or_default()
    }

    /// The live sessions that share a budget.
    pub(crate) fn live_under<'a>(&'a self, budget: &Budget) -> Vec<&'a Session> {
        match budget {
            Budget::Task(task) => {
                let worker = self.live_session_of(task).and_then(|id| self.sessions.get(&id));
                worker.map(|session| &**session).into_iter().collect()
            }
            Budget::Project(project) | Budget::ProjectDay(project) => self.live_in(project).collect(),
            Budget::Day => self.live().collect(),
        }
    }

    /// How often in a row an account has been limited, as of `now`.
    pub(crate) fn limits_in_row(&self, account: &str, now: Timestamp) -> u32 {
        let seen = self.limits_seen.get(account).filter(|seen| now.since(seen.until) < IN_A_ROW);
        seen.map_or(0, |seen| seen.times)
    }

    /// How long an idle agent is left alone.
    pub(crate) fn idle_after(&self, session: &Session) -> Duration {
        idle_after(&self.settings, &self.projects, session)
    }

    /// Whether a session goes on by itself after a provider's limit.
    pub(crate) fn resumes_by_itself(&self, session: &Session) -> bool {
        let project = self.projects.get(&session.spec.project).and_then(|project| project.auto_resume);
        project.unwrap_or(self.settings.auto_resume)
    }

    /// The live sessions of a project.
    pub fn live_in(&self, project: &ProjectId) -> impl Iterator<Item = &Session> {
        self.index
            .live
            .get(project)
            .into_iter()
            .flatten()
            .filter_map(|id| self.sessions.get(id))
            .map(|s| &**s)
    }

    pub fn live(&self) -> impl Iterator<Item = &Session> {
        self.index.live.values().flatten().filter_map(|id| self.sessions.get(id)).map(|session| &**session)
    }

    pub fn slots_taken(&self) -> u32 {
        self.index.slots_taken
    }

    pub fn slots_taken_in(&self, project: &ProjectId) -> u32 {
        self.index.slots.get(project).copied().unwrap_or(0)
    }

    /// The lines of those that wait, a project each, in the order in which they get a slot.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&ProjectId, &BTreeSet<Place>)> {
        self.index.waiting.iter()
    }

    /// The open incidents of one subject.
    pub fn incidents_of<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = &'a Incident> {
        let first = IncidentKey {
            subject: subject.clone(),
            kind: incident::IncidentKind::CiFailed,
            problem: String::new(),
        };
        self.incidents
            .range(first..)
            .take_while(move |(key, _)| key.subject == *subject)
            .map(|(_, incident)| incident)
    }

    /// When time alone will change something.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.index.timers.first().map(|(at, _)| *at)
    }

    /// Those whose time has come, at most `limit` of them.
    pub(crate) fn due(&self, now: Timestamp, limit: usize) -> Vec<Timer> {
        self.index
            .timers
            .iter()
            .take_while(|(at, _)| *at <= now)
            .take(limit)
            .map(|(_, timer)| timer.clone())
            .collect()
    }

    pub(crate) fn next_notice(&self) -> NoticeId {
        NoticeId(self.next_notice.saturating_add(1))
    }

    pub(crate) fn next_errand(&self) -> ErrandId {
        ErrandId(self.next_errand.saturating_add(1))
    }

    /// Whether a budget that the session shares with others is one of time.
    pub(crate) fn counts_time(&self, session: &Session) -> bool {
        counts_time(&self.settings, &self.projects, session)
    }

    /// The notices that are on their way about an incident.
    pub(crate) fn notices_about(&self, key: &IncidentKey) -> impl Iterator<Item = NoticeId> {
        self.index.notices.get(key).into_iter().flatten().copied()
    }

    /// Whether an errand with this key is open.
    pub(crate) fn is_ordered(&self, key: &str) -> bool {
        self.index.errands.contains_key(key)
    }

    pub(crate) fn judge(&self) -> Judge {
        self.judge
    }

    /// The live session that steers a project, if there is one.
    pub(crate) fn orchestrator_in(&self, project: &ProjectId) -> Option<&Session> {
        self.index.orchestrators.get(project).and_then(|id| self.sessions.get(id)).map(|session| &**session)
    }

    pub(crate) fn was_told(&self, key: &str) -> bool {
        self.index.told.contains(key)
    }

    // ── folding ──

    fn evolve_host(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Configured { settings } => {
                self.settings = (**settings).clone();
                // The settings say when things are due.
                self.reindex();
            }
            HostEvent::MemoryScarce { free_mb } => self.scarce_mb = Some(*free_mb),
            HostEvent::MemoryEnough { .. } => self.scarce_mb = None,
            HostEvent::StrayFound { session, attempt, runtime } => {
                self.strays.insert((*session, *attempt, runtime.clone()));
            }
            HostEvent::StrayEnded { session, attempt } => {
                self.strays.retain(|(of, at, _)| (of, at) != (session, attempt));
            }
            HostEvent::CensusDoubted { .. } => {}
        }
    }

    fn evolve_project(&mut self, id: &ProjectId, event: &ProjectEvent, at: Timestamp) {
        match event {
            ProjectEvent::Configured { config } => match self.projects.get_mut(id) {
                Some(project) => {
                    let patience = project.reactions != config.reactions
                        || project.agent_reactions != config.agent_reactions;
                    project.configure(config);
                    // What could not be then may be possible now.
                    self.unassigned.retain(|task, _| task.project != *id);
                    // Its reactions say when its sessions are due.
                    if patience {
                        self.reindex();
                    }
                }
                None => {
                    self.projects.insert(id.clone(), Project::new(config));
                }
            },
            ProjectEvent::Removed {} => {
                self.projects.remove(id);
                self.index.set_timer(Timer::Policy(id.clone()), None);
                self.index.set_timer(Timer::Queue(id.clone()), None);
                self.tasks.retain(|task, _| task.project != *id);
                self.tally.remove(id);
                self.unassigned.retain(|task, _| task.project != *id);
                let gone = self.purses.keys().filter(|budget| budget.project() == Some(id));
                for budget in gone.cloned().collect::<Vec<_>>() {
                    self.forget_purse(&budget);
                }
            }
            ProjectEvent::PolicyChanged { policy, unwritten } => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.policy = (**policy).clone();
                    project.queue.policy_due = false;
                    let edge = policy.next_edge(at);
                    project.policy_stand = PolicyStand { written: !unwritten, broken: None, edge };
                    self.index.set_timer(Timer::Policy(id.clone()), edge);
                }
            }
            ProjectEvent::PolicyBroken { why } => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.policy_stand.broken = Some(why.clone());
                    project.queue.policy_due = false;
                }
            }
            ProjectEvent::FreezeTurned { .. } => {
                if let Some(project) = self.projects.get_mut(id) {
                    let edge = project.policy.next_edge(at);
                    project.policy_stand.edge = edge;
                    self.index.set_timer(Timer::Policy(id.clone()), edge);
                }
            }
            ProjectEvent::Flaked { check, signature, excerpt } => {
                if let Some(project) = self.projects.get_mut(id) {
                    count_flake(&mut project.flakes, check, signature, excerpt, at);
                }
            }
            ProjectEvent::BaseAsked { branch, check, commit } => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.base.asked(branch, check, commit, at);
                }
            }
            ProjectEvent::BaseFound { branch, check, commit, verdict } => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.base.found(branch, check, commit, verdict, at);
                }
            }
            ProjectEvent::Foreseen { found, changed, over, touched } => {
                if let Some(project) = self.projects.get_mut(id) {
                    let fresh = [found.as_slice(), changed].concat();
                    forecast::evolve(&mut project.forecast, &fresh, over, touched, at);
                }
            }
            ProjectEvent::Completed { .. } => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.complete = Some(at);
                }
            }
            ProjectEvent::Capped { until, why } => {
                let capped = BudgetEvent::Capped { why: why.clone(), until: Some(*until), judge_at: None };
                self.evolve_budget(&Budget::ProjectDay(id.clone()), &capped, at);
            }
            ProjectEvent::Uncapped {} => {
                self.evolve_budget(&Budget::ProjectDay(id.clone()), &BudgetEvent::Uncapped {}, at);
            }
        }
    }

    fn evolve_budget(&mut self, budget: &Budget, event: &BudgetEvent, at: Timestamp) {
        // A budget that nobody has spent anything of can be raised, and then it is remembered.
        let purse = self.purses.entry(budget.clone()).or_default();
        budget::evolve(budget, purse, event, at);
        let due = purse.due();
        self.index.set_timer(Timer::Budget(budget.clone()), due);
    }

    fn evolve_session(&mut self, id: SessionId, event: &SessionEvent, at: Timestamp) {
        if let SessionEvent::Queued { spec } = event {
            if let Some(before) = self.sessions.get(&id) {
                self.index.leave(before, Footprint::of(before));
            }
            let session = Session::queued(id, (**spec).clone(), at);
            self.index.names.insert(session.spec.name.clone(), id);
            self.index.enter(&session, Footprint::of(&session));
            if let Some(project) = self.projects.get_mut(&session.spec.project) {
                project.begin();
            }
            if let (Some(task), session::Role::Worker) = (&spec.task, spec.role) {
                self.remember_worked(task);
            }
            self.sessions.insert(id, Box::new(session));
            return;
        }
        if let SessionEvent::Spent { spend } = event {
            self.count_spend(id, *spend, at);
        }
        let State { sessions, projects, settings, index, tally, .. } = self;
        let Some(session) = sessions.get_mut(&id) else {
            return;
        };
        let project = projects.get_mut(&session.spec.project);
        match event {
            SessionEvent::Requeued { .. } => {
                if let Some(project) = project {
                    // Brought back, it comes to its end a second time, and that one counts.
                    if let session::Phase::Ended { outcome, .. } = &session.phase
                        && session.spec.role == session::Role::Worker
                    {
                        project.resume(matches!(outcome, session::Outcome::Merged { .. }));
                    }
                    project.begin();
                }
            }
            SessionEvent::Ended { outcome } if session.spec.role == session::Role::Worker => {
                if let Some(project) = project {
                    let merged = matches!(outcome, session::Outcome::Merged { .. });
                    project.finish(merged, session.summed, session.spend);
                    tally.entry(session.spec.project.clone()).or_default().ended(merged);
                }
                session.summed = session.spend;
            }
            _ => {}
        }
        // Most events are signals, which leave no footprint; comparing costs more than folding them.
        let before = event.leaves_footprint().then(|| Footprint::of(session));
        session::evolve(session, event, at);
        if let Some(before) = before {
            let after = Footprint::of(session);
            if before != after {
                index.leave(session, before);
                index.enter(session, after);
            }
        }
        if let SessionEvent::Archived { pulls } = event {
            index.leave(session, Footprint::of(session));
            release(&mut index.names, &session.spec.name, id);
            index.set_timer(Timer::Session(id), None);
            let task = sessions.swap_remove(&id).and_then(|session| session.spec.task);
            self.forget(pulls, task.as_ref());
        } else {
            let (idle_after, counts) =
                (idle_after(settings, projects, session), counts_time(settings, projects, session));
            index.set_timer(Timer::Session(id), session.due(settings, idle_after, counts));
        }
    }

    /// Counts what a session used up on top for all the budgets that it shares.
    fn count_spend(&mut self, id: SessionId, spend: Spend, at: Timestamp) {
        let Some(session) = self.sessions.get(&id) else { return };
        // A project that is gone takes its budgets along.
        let known = self.projects.contains_key(&session.spec.project);
        let (budgets, before) = (self.budgets_of(session), session.spend);
        if known {
            self.tally.entry(session.spec.project.clone()).or_default().spend(before, spend);
        }
        for budget in budgets.into_iter().filter(|budget| known || budget.project().is_none()) {
            self.purses.entry(budget.clone()).or_default().spend(&budget, at, before, spend);
        }
    }

    fn forget_purse(&mut self, budget: &Budget) {
        self.purses.remove(budget);
        self.index.set_timer(Timer::Budget(budget.clone()), None);
    }

    /// Forgets what only an archived session knew of.
    fn forget(&mut self, pulls: &BTreeSet<PullId>, task: Option<&TaskId>) {
        for id in pulls {
            if self.pulls.get(id).is_some_and(|pull| !pull.is_open()) {
                self.pulls.remove(id);
            }
        }
        if let Some(task) = task.filter(|task| self.tasks.get(*task).is_some_and(|known| known.closed)) {
            self.forget_task(task);
        }
    }

    /// Forgets a task that is closed and that nobody here works on.
    fn forget_task(&mut self, task: &TaskId) {
        self.tasks.remove(task);
        self.unassigned.remove(task);
        self.forget_purse(&Budget::Task(task.clone()));
        for other in self.tasks.values_mut() {
            other.blocked_by.remove(task);
        }
    }

    /// Remembers that a task has had its session. Of very many, those are forgotten that are closed.
    fn remember_worked(&mut self, task: &TaskId) {
        self.unassigned.remove(task);
        self.worked.insert(task.clone());
        if self.worked.len() > WORKED {
            let State { worked, tasks, .. } = self;
            worked.retain(|known| known == task || tasks.contains_key(known));
        }
    }

    fn evolve_incident(&mut self, key: &IncidentKey, event: &IncidentEvent, at: Timestamp) {
        if let IncidentEvent::Escalated { to: incident::Rung::Person, .. } = event
            && digest::needs_person(&key.kind)
            && let Some(project) = self.project_of(&key.subject)
        {
            let tally = self.tally.entry(project).or_default();
            tally.escalated = tally.escalated.saturating_add(1);
        }
        match event {
            IncidentEvent::Opened { revision, detail } => {
                self.incidents.insert(key.clone(), Incident::opened(key, revision, detail, at));
            }
            IncidentEvent::Closed {} => {
                self.incidents.remove(key);
                self.index.set_timer(Timer::Incident(key.clone()), None);
            }
            _ => {
                if let Some(incident) = self.incidents.get_mut(key) {
                    incident::evolve(incident, event, at);
                    let due = incident.due;
                    self.index.set_timer(Timer::Incident(key.clone()), due);
                }
            }
        }
    }

    /// The project that a subject is of.
    fn project_of(&self, subject: &Subject) -> Option<ProjectId> {
        let project = match subject {
            Subject::Host => return None,
            Subject::Project(project) => project,
            Subject::Session(id) => &self.sessions.get(id)?.spec.project,
            Subject::Pull(pull) => &pull.project,
        };
        self.projects.contains_key(project).then(|| project.clone())
    }

    fn evolve_notice(&mut self, id: NoticeId, event: &NoticeEvent, at: Timestamp) {
        self.record_channel(event, at);
        match event {
            NoticeEvent::Raised { notice } => {
                self.next_notice = self.next_notice.max(id.0);
                if self.index.told.insert(notice.key.clone()) {
                    self.notice_keys.push_back(notice.key.clone());
                }
                if self.notice_keys.len() > NOTICE_KEYS
                    && let Some(oldest) = self.notice_keys.pop_front()
                {
                    self.index.told.remove(&oldest);
                }
                if let Some(key) = &notice.incident {
                    self.index.notices.entry(key.clone()).or_default().insert(id);
                }
                if digest::is_digest(&notice.key) {
                    self.tally.clear();
                }
                self.notices.insert(id, notice.clone());
            }
            _ => {
                let Some(notice) = self.notices.get_mut(&id) else { return };
                let over = notice::evolve(notice, event);
                let due = notice.due().filter(|_| !over);
                if over
                    && let Some(key) = self.notices.remove(&id).and_then(|notice| notice.incident)
                    && let Some(told) = self.index.notices.get_mut(&key)
                {
                    told.remove(&id);
                    if told.is_empty() {
                        self.index.notices.remove(&key);
                    }
                }
                self.index.set_timer(Timer::Notice(id), due);
            }
        }
    }

    fn record_channel(&mut self, event: &NoticeEvent, at: Timestamp) {
        match event {
            NoticeEvent::Told { channel } => {
                self.channels.entry(channel.clone()).or_default().told_at = Some(at);
            }
            NoticeEvent::Delayed { channel: Some(channel), why, .. }
            | NoticeEvent::Missed { channel, why } => {
                let record = self.channels.entry(channel.clone()).or_default();
                record.failed_at = Some(at);
                record.why.clone_from(why);
            }
            _ => {}
        }
    }

    fn evolve_errand(&mut self, id: ErrandId, event: &ErrandEvent, at: Timestamp) {
        if let ErrandEvent::Failed { behalf: Behalf::Task(task), why }
        | ErrandEvent::Done { behalf: Behalf::Task(task), outcome: ErrandOutcome::Refused { why } } = event
            && self.tasks.contains_key(task)
        {
            self.unassigned.insert(task.clone(), Unassigned { why: why.clone(), at });
        }
        match event {
            ErrandEvent::Wanted { errand } => {
                self.next_errand = self.next_errand.max(id.0);
                self.index.errands.insert(errand.key.clone(), id);
                self.errands.insert(id, (**errand).clone());
            }
            ErrandEvent::Done { .. } | ErrandEvent::Failed { .. } => {
                if let Some(errand) = self.errands.remove(&id)
                    && self.index.errands.get(&errand.key) == Some(&id)
                {
                    self.index.errands.remove(&errand.key);
                }
                self.index.set_timer(Timer::Errand(id), None);
            }
            ErrandEvent::Delayed { .. } | ErrandEvent::Retried {} => {
                if let Some(errand) = self.errands.get_mut(&id) {
                    errand::evolve(errand, event);
                    let due = errand.again_at;
                    self.index.set_timer(Timer::Errand(id), due);
                }
            }
        }
    }

    // ── indexes ──

    fn reindex(&mut self) {
        self.index = Index::default();
        for (id, session) in &self.sessions {
            self.index.names.insert(session.spec.name.clone(), *id);
            self.index.enter(session, Footprint::of(session));
            let idle_after = idle_after(&self.settings, &self.projects, session);
            let counts = counts_time(&self.settings, &self.projects, session);
            self.index.set_timer(Timer::Session(*id), session.due(&self.settings, idle_after, counts));
        }
        self.index.errands = self.errands.iter().map(|(id, errand)| (errand.key.clone(), *id)).collect();
        self.index.told = self.notice_keys.iter().cloned().collect();
        for (id, notice) in &self.notices {
            if let Some(key) = &notice.incident {
                self.index.notices.entry(key.clone()).or_default().insert(*id);
            }
        }
        let timers = self
            .incidents
            .values()
            .map(|incident| (Timer::Incident(incident.key.clone()), incident.due))
            .chain(self.notices.values().map(|notice| (Timer::Notice(notice.id), notice.due())))
            .chain(self.errands.values().map(|errand| (Timer::Errand(errand.id), errand.again_at)))
            .chain(self.purses.iter().map(|(budget, purse)| (Timer::Budget(budget.clone()), purse.due())))
            .chain(
                self.accounts.iter().map(|(account, until)| (Timer::Account(account.clone()), Some(*until))),
            )
            .chain(
                self.projects.iter().map(|(id, known)| (Timer::Policy(id.clone()), known.policy_stand.edge)),
            )
            .chain(self.projects.iter().map(|(id, known)| (Timer::Queue(id.clone()), known.queue.again_at())))
            .collect::<Vec<_>>();
        for (timer, due) in timers {
            self.index.set_timer(timer, due);
        }
    }
}

/// Whether a budget that the session shares with others is one of time.
fn counts_time(settings: &Settings, projects: &BTreeMap<ProjectId, Project>, session: &Session) -> bool {
    let project = projects.get(&session.spec.project);
    let of_project = project.into_iter().flat_map(|project| [project.daily, project.total, project.per_task]);
    of_project.chain([settings.daily]).any(|limits| limits.seconds.is_some())
}

fn idle_after(settings: &Settings, projects: &BTreeMap<ProjectId, Project>, session: &Session) -> Duration {
    let project = projects.get(&session.spec.project);
    threshold(&IncidentKind::AgentIdle, settings, project, &session.spec.agent).unwrap_or(IDLE_AFTER)
}

/// Incidents as a list, because JSON has no room for a structured key.
mod by_key {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::incident::{Incident, IncidentKey};

    pub(super) fn serialize<S: Serializer>(
        incidents: &BTreeMap<IncidentKey, Incident>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(incidents.values())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<IncidentKey, Incident>, D::Error> {
        let incidents = Vec::<Incident>::deserialize(deserializer)?;
        Ok(incidents.into_iter().map(|incident| (incident.key.clone(), incident)).collect())
    }
}
