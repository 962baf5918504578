//! All that is known, folded from the log, with the indexes that keep every question short.

mod index;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::errand::{self, Errand, ErrandEvent};
use crate::event::{AccountEvent, Event, HostEvent, Stamped};
use crate::incident::{self, Incident, IncidentEvent, IncidentKey, Subject};
use crate::notice::{self, ChannelRecord, Notice, NoticeEvent};
use crate::project::{Project, ProjectEvent};
use crate::pull::{self, Pull};
use crate::queue;
use crate::reaction::Judge;
use crate::session::{self, Session, SessionEvent};
use crate::settings::Settings;
use crate::task::{Task, TaskEvent};
use crate::{Attempt, ConversationId, ErrandId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp};

use index::{Footprint, Index, release};
pub(crate) use index::{Place, Timer};

/// How many keys of past notices are remembered, to tell people everything once.
const NOTICE_KEYS: usize = 1024;

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

impl State {
    /// Folds one event into the state. Cannot fail, and acts on nothing.
    pub fn evolve(&mut self, stamped: &Stamped) {
        let at = stamped.at;
        self.at = self.at.max(at);
        match &stamped.event {
            Event::Host(event) => self.evolve_host(event),
            Event::Account(account, AccountEvent::Limited { until }) => {
                self.accounts.insert(account.clone(), *until);
                self.index.set_timer(Timer::Account(account.clone()), Some(*until));
            }
            Event::Account(account, AccountEvent::Reset {}) => {
                self.accounts.remove(account);
                self.index.set_timer(Timer::Account(account.clone()), None);
            }
            Event::Project(id, event) => self.evolve_project(id, event),
            Event::Task(id, TaskEvent::Seen { facts }) => {
                self.tasks.insert(id.clone(), facts.clone());
            }
            Event::Task(_, TaskEvent::Closed {}) => {}
            Event::Session(id, event) => self.evolve_session(*id, event, at),
            Event::Pull(id, event) => {
                let mut pull = self.pulls.remove(id).map(|pull| *pull);
                pull::evolve(&mut pull, id, event, at);
                // What is over and nobody's is history, and history is on disk.
                if let Some(pull) = pull.filter(|pull| pull.is_open() || pull.owner.is_some()) {
                    self.pulls.insert(id.clone(), Box::new(pull));
                }
            }
            Event::Queue(project, event) => {
                if let Some(project) = self.projects.get_mut(project) {
                    queue::evolve(&mut project.queue, event, at);
                }
            }
            Event::Incident(key, event) => self.evolve_incident(key, event, at),
            Event::Notice(id, event) => self.evolve_notice(*id, event, at),
            Event::Errand(id, event) => self.evolve_errand(*id, event),
        }
    }

    /// The same state, with somebody to judge the conditions of reactions.
    #[must_use]
    pub fn judged_by(self, judge: Judge) -> State {
        State { judge, ..self }
    }

    /// Reads a state from a snapshot and makes its indexes anew.
    pub fn from_snapshot(body: &[u8]) -> Result<State, serde_json::Error> {
        let mut state: State = serde_json::from_slice(body)?;
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

    pub(crate) fn was_told(&self, key: &str) -> bool {
        self.notice_keys.iter().any(|known| known == key)
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

    fn evolve_project(&mut self, id: &ProjectId, event: &ProjectEvent) {
        match event {
            ProjectEvent::Configured { config } => match self.projects.get_mut(id) {
                Some(project) => project.configure(config),
                None => {
                    self.projects.insert(id.clone(), Project::new(config));
                }
            },
            ProjectEvent::Removed {} => {
                self.projects.remove(id);
                self.index.set_timer(Timer::Project(id.clone()), None);
            }
            ProjectEvent::PolicyChanged { policy } => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.policy = (**policy).clone();
                }
            }
            ProjectEvent::Capped { until, .. } => self.cap_project(id, Some(*until)),
            ProjectEvent::Uncapped {} => self.cap_project(id, None),
        }
    }

    fn cap_project(&mut self, id: &ProjectId, until: Option<Timestamp>) {
        if let Some(project) = self.projects.get_mut(id) {
            project.capped_until = until;
            self.index.set_timer(Timer::Project(id.clone()), until);
        }
    }

    fn evolve_session(&mut self, id: SessionId, event: &SessionEvent, at: Timestamp) {
        if let SessionEvent::Queued { spec } = event {
            if let Some(before) = self.sessions.get(&id) {
                self.index.leave(before, Footprint::of(before));
            }
            let session = Session::queued(id, (**spec).clone(), at);
            self.index.names.insert(session.spec.name.clone(), id);
            self.index.enter(&session, Footprint::of(&session));
            self.sessions.insert(id, Box::new(session));
            return;
        }
        let State { sessions, projects, settings, index, .. } = self;
        let Some(session) = sessions.get_mut(&id) else {
            return;
        };
        if let SessionEvent::Spent { spend } = event
            && let Some(project) = projects.get_mut(&session.spec.project)
        {
            project.spend(at, session.spend, *spend);
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
            index.set_timer(Timer::Session(id), session.due(settings));
        }
    }

    /// Forgets what only an archived session knew of.
    fn forget(&mut self, pulls: &BTreeSet<PullId>, task: Option<&TaskId>) {
        for id in pulls {
            if self.pulls.get(id).is_some_and(|pull| !pull.is_open()) {
                self.pulls.remove(id);
            }
        }
        if let Some(task) = task.filter(|task| self.tasks.get(*task).is_some_and(|known| known.closed)) {
            self.tasks.remove(task);
            for other in self.tasks.values_mut() {
                other.blocked_by.remove(task);
            }
        }
    }

    fn evolve_incident(&mut self, key: &IncidentKey, event: &IncidentEvent, at: Timestamp) {
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

    fn evolve_notice(&mut self, id: NoticeId, event: &NoticeEvent, at: Timestamp) {
        self.record_channel(event, at);
        match event {
            NoticeEvent::Raised { notice } => {
                self.next_notice = self.next_notice.max(id.0);
                self.notice_keys.push_back(notice.key.clone());
                if self.notice_keys.len() > NOTICE_KEYS {
                    self.notice_keys.pop_front();
                }
                self.notices.insert(id, notice.clone());
            }
            _ => {
                let Some(notice) = self.notices.get_mut(&id) else { return };
                let over = notice::evolve(notice, event);
                let due = notice.due().filter(|_| !over);
                if over {
                    self.notices.remove(&id);
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

    fn evolve_errand(&mut self, id: ErrandId, event: &ErrandEvent) {
        match event {
            ErrandEvent::Wanted { errand } => {
                self.next_errand = self.next_errand.max(id.0);
                self.errands.insert(id, (**errand).clone());
            }
            ErrandEvent::Done { .. } | ErrandEvent::Failed { .. } => {
                self.errands.remove(&id);
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
            self.index.set_timer(Timer::Session(*id), session.due(&self.settings));
        }
        let timers = self
            .incidents
            .values()
            .map(|incident| (Timer::Incident(incident.key.clone()), incident.due))
            .chain(self.notices.values().map(|notice| (Timer::Notice(notice.id), notice.due())))
            .chain(self.errands.values().map(|errand| (Timer::Errand(errand.id), errand.again_at)))
            .chain(
                self.projects.iter().map(|(id, project)| (Timer::Project(id.clone()), project.capped_until)),
            )
            .chain(
                self.accounts.iter().map(|(account, until)| (Timer::Account(account.clone()), Some(*until))),
            )
            .collect::<Vec<_>>();
        for (timer, due) in timers {
            self.index.set_timer(timer, due);
        }
    }
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
