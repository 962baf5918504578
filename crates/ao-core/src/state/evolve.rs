//! Folds events into the state.

use std::collections::BTreeSet;

use super::index::{IndexFootprint, release};
use super::timers::StateTimer;
use super::{LimitsSeen, State, UnassignedTask, counts_time, idle_after};
use crate::budget::{self, BudgetEvent, BudgetScope, UsageTotal};
use crate::event::{AccountEvent, Event, HostEvent, StampedEvent};
use crate::incident::{self, Incident, IncidentEvent, IncidentKey, Subject};
use crate::job::{self, JobEvent, JobOutcome, Requester};
use crate::notice::{self, NoticeEvent};
use crate::project::{Project, ProjectEvent};
use crate::pull::{self, PullEvent};
use crate::session::{self, Session, SessionEvent};
use crate::task::TaskEvent;
use crate::{JobId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp, digest};

/// Number of keys of past notices that are remembered, so that each is sent once.
const NOTICE_KEYS: usize = 1024;

/// Number of tasks that had a session and are remembered, beside those that are open.
const WORKED: usize = 16 * 1024;

impl State {
    /// Applies one event to the state. Cannot fail, and acts on nothing.
    pub fn evolve(&mut self, stamped: &StampedEvent) {
        let at = stamped.at;
        self.at = self.at.max(at);
        match &stamped.event {
            Event::Host(event) => self.evolve_host(event),
            Event::Account(account, AccountEvent::Limited { until }) => {
                let in_force = self.accounts.insert(account.clone(), *until).is_some();
                let times = self.limits_in_row(account, at) + u32::from(!in_force);
                self.limits_seen.insert(account.clone(), LimitsSeen { times, until: *until });
                self.index.timers.set(StateTimer::Account(account.clone()), Some(*until));
            }
            Event::Account(account, AccountEvent::Reset {}) => {
                self.accounts.remove(account);
                self.index.timers.set(StateTimer::Account(account.clone()), None);
            }
            Event::Project(id, event) => self.evolve_project(id, event, at),
            Event::Task(id, TaskEvent::Seen { facts }) => {
                self.tasks.insert(id.clone(), facts.clone());
                self.unassigned.remove(id);
            }
            // The task and its budget are no longer needed, unless one of its sessions is still in memory.
            Event::Task(id, TaskEvent::Closed {}) => {
                if !self.sessions.values().any(|session| session.spec.task.as_ref() == Some(id)) {
                    self.forget_task(id);
                }
            }
            Event::Session(id, event) => self.evolve_session(*id, event, at),
            Event::Pull(id, event) => {
                let mut pull = self.pulls.remove(id).map(|pull| *pull);
                pull::evolve(&mut pull, id, event, at);
                if let (Some(pull), PullEvent::Released { session }) = (&mut pull, event) {
                    pull.tasks.remove(session);
                }
                // There is work again.
                if let (PullEvent::Opened { .. }, Some(project)) = (event, self.projects.get_mut(&id.project))
                {
                    project.begin();
                }
                if let (Some(pull), PullEvent::Claimed { session }) = (&mut pull, event)
                    && let Some(session) = self.sessions.get(session)
                {
                    pull.claimed_by(session);
                }
                // A closed pull request without an owner is history, and history is on disk.
                if let Some(pull) = pull.filter(|pull| pull.is_open() || pull.owner.is_some()) {
                    self.pulls.insert(id.clone(), Box::new(pull));
                }
            }
            Event::Queue(id, event) => {
                if let Some(project) = self.projects.get_mut(id) {
                    project.evolve_queue(event, at);
                    self.index.timers.set(StateTimer::Queue(id.clone()), project.queue.again_at());
                }
            }
            Event::Incident(key, event) => self.evolve_incident(key, event, at),
            Event::Notice(id, event) => self.evolve_notice(*id, event, at),
            Event::Job(id, event) => self.evolve_job(*id, event, at),
            Event::Budget(budget, event) => self.evolve_budget(budget, event, at),
        }
    }

    fn evolve_host(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Configured { settings } => {
                self.settings = (**settings).clone();
                // Timers depend on the settings.
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
                    let patience = project.config.reactions != config.reactions
                        || project.config.agent_reactions != config.agent_reactions;
                    project.config = (**config).clone();
                    // A failed assignment may be possible now.
                    self.unassigned.retain(|task, _| task.project != *id);
                    // Timers of its sessions depend on its reactions.
                    if patience {
                        self.reindex();
                    }
                }
                None => {
                    self.projects.insert(id.clone(), Project::new((**config).clone()));
                }
            },
            ProjectEvent::Removed {} => {
                self.projects.remove(id);
                self.index.timers.set(StateTimer::Policy(id.clone()), None);
                self.index.timers.set(StateTimer::Queue(id.clone()), None);
                self.tasks.retain(|task, _| task.project != *id);
                self.tally.remove(id);
                self.unassigned.retain(|task, _| task.project != *id);
                let gone = self.budget_usage.keys().filter(|budget| budget.project() == Some(id));
                for budget in gone.cloned().collect::<Vec<_>>() {
                    self.forget_usage(&budget);
                }
            }
            event => {
                let Some(project) = self.projects.get_mut(id) else { return };
                if let Some(edge) = project.evolve(event, at) {
                    self.index.timers.set(StateTimer::Policy(id.clone()), edge);
                }
            }
        }
    }

    fn evolve_budget(&mut self, budget: &BudgetScope, event: &BudgetEvent, at: Timestamp) {
        // A budget without spending can be raised, and is then remembered.
        let usage = self.budget_usage.entry(budget.clone()).or_default();
        budget::evolve(budget, usage, event, at);
        let due = usage.due();
        match usage.cap.is_some() {
            true => self.index.capped.insert(budget.clone()),
            false => self.index.capped.remove(budget),
        };
        self.index.timers.set(StateTimer::Budget(budget.clone()), due);
    }

    fn evolve_session(&mut self, id: SessionId, event: &SessionEvent, at: Timestamp) {
        if let SessionEvent::Queued { spec } = event {
            if let Some(before) = self.sessions.get(&id) {
                self.index.leave(before, IndexFootprint::of(before));
            }
            let session = Session::queued(id, (**spec).clone(), at);
            self.index.names.insert(session.spec.name.clone(), id);
            self.index.enter(&session, IndexFootprint::of(&session));
            if let Some(project) = self.projects.get_mut(&session.spec.project) {
                project.begin();
            }
            if let (Some(task), session::SessionRole::Worker) = (&spec.task, spec.role) {
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
                    // Restored, it will end a second time, and that end counts.
                    if let session::Phase::Ended { outcome, .. } = &session.phase
                        && session.spec.role == session::SessionRole::Worker
                    {
                        project.resume(matches!(outcome, session::SessionOutcome::Merged { .. }));
                    }
                    project.begin();
                }
            }
            SessionEvent::Ended { outcome } if session.spec.role == session::SessionRole::Worker => {
                if let Some(project) = project {
                    let merged = matches!(outcome, session::SessionOutcome::Merged { .. });
                    project.finish(merged, session.usage.summed, session.usage.spend);
                    tally.entry(session.spec.project.clone()).or_default().ended(merged);
                }
                session.usage.summed = session.usage.spend;
            }
            _ => {}
        }
        // Most events are signals, which change no index; comparing costs more than applying them.
        let before = event.leaves_footprint().then(|| IndexFootprint::of(session));
        session::evolve(session, event, at);
        if let Some(before) = before {
            let after = IndexFootprint::of(session);
            if before != after {
                index.leave(session, before);
                index.enter(session, after);
            }
        }
        index.mark_idle(session);
        if let SessionEvent::Archived { pulls } = event {
            index.leave(session, IndexFootprint::of(session));
            release(&mut index.names, &session.spec.name, id);
            index.timers.set(StateTimer::Session(id), None);
            let task = sessions.swap_remove(&id).and_then(|session| session.spec.task);
            self.forget(pulls, task.as_ref());
        } else {
            let (idle_after, counts) =
                (idle_after(settings, projects, session), counts_time(settings, projects, session));
            index.timers.set(StateTimer::Session(id), session.due(settings, idle_after, counts));
        }
    }

    /// Adds the growth of a session's spending to all budgets that it shares.
    fn count_spend(&mut self, id: SessionId, spend: UsageTotal, at: Timestamp) {
        let Some(session) = self.sessions.get(&id) else { return };
        // A removed project takes its budgets along.
        let known = self.projects.contains_key(&session.spec.project);
        let (budgets, before) = (self.budgets_of(session), session.usage.spend);
        if known {
            self.tally.entry(session.spec.project.clone()).or_default().spend(before, spend);
        }
        for budget in budgets.into_iter().filter(|budget| known || budget.project().is_none()) {
            self.budget_usage.entry(budget.clone()).or_default().spend(&budget, at, before, spend);
        }
    }

    fn forget_usage(&mut self, budget: &BudgetScope) {
        self.budget_usage.swap_remove(budget);
        self.index.capped.remove(budget);
        self.index.timers.set(StateTimer::Budget(budget.clone()), None);
    }

    /// Forgets what only an archived session needed.
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

    /// Forgets a closed task without a session.
    fn forget_task(&mut self, task: &TaskId) {
        self.tasks.remove(task);
        self.unassigned.remove(task);
        self.forget_usage(&BudgetScope::Task(task.clone()));
        for other in self.tasks.values_mut() {
            other.blocked_by.remove(task);
        }
    }

    /// Remembers that a task had its session. Beyond the limit, closed tasks are forgotten.
    fn remember_worked(&mut self, task: &TaskId) {
        self.unassigned.remove(task);
        self.worked.insert(task.clone());
        if self.worked.len() > WORKED {
            let State { worked, tasks, .. } = self;
            worked.retain(|known| known == task || tasks.contains_key(known));
        }
    }

    fn evolve_incident(&mut self, key: &IncidentKey, event: &IncidentEvent, at: Timestamp) {
        if let IncidentEvent::Escalated { to: incident::EscalationLevel::Person, .. } = event
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
                self.index.timers.set(StateTimer::Incident(key.clone()), None);
            }
            _ => {
                if let Some(incident) = self.incidents.get_mut(key) {
                    incident::evolve(incident, event, at);
                    let due = incident.due;
                    self.index.timers.set(StateTimer::Incident(key.clone()), due);
                }
            }
        }
    }

    /// Returns the project that a subject belongs to.
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
                if let NoticeEvent::Released { channel } | NoticeEvent::Gathered { channel, .. } = event
                    && notice.awaits_others(channel)
                {
                    self.channels.entry(channel.clone()).or_default().burst_at = Some(at);
                }
                let over = notice::evolve(notice, event, at);
                let due = notice.due().filter(|_| !over);
                let removed = if over { self.notices.remove(&id) } else { None };
                // A notice that reached no channel must not suppress the next one when its problem returns.
                if let Some(notice) = &removed
                    && matches!(event, NoticeEvent::Withdrawn { .. })
                    && !notice.told
                    && self.index.told.remove(&notice.key)
                {
                    self.notice_keys.retain(|key| *key != notice.key);
                }
                if let Some(key) = removed.and_then(|notice| notice.incident)
                    && let Some(told) = self.index.notices.get_mut(&key)
                {
                    told.remove(&id);
                    if told.is_empty() {
                        self.index.notices.remove(&key);
                    }
                }
                self.index.timers.set(StateTimer::Notice(id), due);
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

    fn evolve_job(&mut self, id: JobId, event: &JobEvent, at: Timestamp) {
        if let JobEvent::Failed { requester: Requester::Task(task), why }
        | JobEvent::Done { requester: Requester::Task(task), outcome: JobOutcome::Refused { why } } = event
            && self.tasks.contains_key(task)
        {
            self.unassigned.insert(task.clone(), UnassignedTask { why: why.clone(), at });
        }
        match event {
            JobEvent::Wanted { job } => {
                self.next_job = self.next_job.max(id.0);
                self.index.jobs.insert(job.key.clone(), id);
                self.jobs.insert(id, (**job).clone());
            }
            JobEvent::Done { .. } | JobEvent::Failed { .. } => {
                if let Some(job) = self.jobs.remove(&id)
                    && self.index.jobs.get(&job.key) == Some(&id)
                {
                    self.index.jobs.remove(&job.key);
                }
                self.index.timers.set(StateTimer::Job(id), None);
            }
            JobEvent::Delayed { .. } | JobEvent::Retried {} => {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job::evolve(job, event);
                    let due = job.again_at;
                    self.index.timers.set(StateTimer::Job(id), due);
                }
            }
        }
    }
}
