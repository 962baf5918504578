//! Queries on the state, each answered by an index.

use std::collections::BTreeSet;
use std::time::Duration;

use super::index::QueuePosition;
use super::timers::StateTimer;
use super::{State, counts_time, idle_after};
use crate::budget::{BudgetCap, BudgetScope, SpendLimits};
use crate::incident::{self, Incident, IncidentKey, Subject};
use crate::reaction::ConditionJudge;
use crate::refusal::Refusal;
use crate::session::{self, Session};
use crate::{ConversationId, JobId, NoticeId, ProjectId, SessionId, TaskId, Timestamp};

/// The time within which the next limit of an account counts as repeated.
const IN_A_ROW: Duration = Duration::from_secs(3600);

impl State {
    pub fn session_named(&self, name: &str) -> Option<&Session> {
        self.index.names.get(name).and_then(|id| self.sessions.get(id)).map(|session| &**session)
    }

    /// Returns the display name of a session; its id if it is no longer in memory.
    pub fn name_of(&self, session: SessionId) -> String {
        self.sessions.get(&session).map_or_else(|| session.to_string(), |session| session.spec.name.clone())
    }

    /// Returns the display name of the subject of a problem.
    pub fn subject_name(&self, subject: &Subject) -> String {
        match subject {
            Subject::Session(session) => self.name_of(*session),
            other => other.to_string(),
        }
    }

    /// Checks whether a session could be restored now: the rule by which a restore is accepted or refused.
    pub fn may_restore(&self, session: &Session, now: Timestamp) -> Result<(), Refusal> {
        session::may_restore(self, session, now)
    }

    /// Returns the session that works on a task.
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

    /// Returns the budgets that a session shares with others.
    pub fn budgets_of(&self, session: &Session) -> Vec<BudgetScope> {
        let project = &session.spec.project;
        let of_task = session.spec.task.clone().map(BudgetScope::Task);
        let wider = [
            BudgetScope::Project(project.clone()),
            BudgetScope::ProjectDay(project.clone()),
            BudgetScope::Day,
        ];
        of_task.into_iter().chain(wider).collect()
    }

    /// Returns the configured limits of a budget.
    pub fn limits_of(&self, budget: &BudgetScope) -> SpendLimits {
        let project = |id: &ProjectId| self.projects.get(id);
        match budget {
            BudgetScope::Task(task) => project(&task.project).map(|project| project.config.per_task),
            BudgetScope::Project(id) => project(id).map(|project| project.config.total),
            BudgetScope::ProjectDay(id) => project(id).map(|project| project.config.daily),
            BudgetScope::Day => Some(self.settings.daily),
        }
        .unwrap_or_default()
    }

    /// Returns the live sessions that share a budget.
    pub(crate) fn live_under<'a>(&'a self, budget: &BudgetScope) -> Vec<&'a Session> {
        match budget {
            BudgetScope::Task(task) => {
                let worker = self.live_session_of(task).and_then(|id| self.sessions.get(&id));
                worker.map(|session| &**session).into_iter().collect()
            }
            BudgetScope::Project(project) | BudgetScope::ProjectDay(project) => {
                self.live_in(project).collect()
            }
            BudgetScope::Day => self.live().collect(),
        }
    }

    /// Returns how often in a row an account has been limited, as of `now`.
    pub(crate) fn limits_in_row(&self, account: &str, now: Timestamp) -> u32 {
        let seen = self.limits_seen.get(account).filter(|seen| now.since(seen.until) < IN_A_ROW);
        seen.map_or(0, |seen| seen.times)
    }

    /// Returns how long an idle agent is left alone.
    pub(crate) fn idle_after(&self, session: &Session) -> Duration {
        idle_after(&self.settings, &self.projects, session)
    }

    /// Returns true if a session resumes by itself after a provider's limit.
    pub(crate) fn resumes_by_itself(&self, session: &Session) -> bool {
        let project = self.projects.get(&session.spec.project).and_then(|project| project.config.auto_resume);
        project.unwrap_or(self.settings.auto_resume)
    }

    /// Returns the live sessions of a project.
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

    /// Returns the lines of waiting sessions, one per project, in the order in which they get a slot.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&ProjectId, &BTreeSet<QueuePosition>)> {
        self.index.waiting.iter()
    }

    /// Returns the sessions that may give up their slots.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &Session> {
        self.index.idle.iter().filter_map(|id| self.sessions.get(id)).map(|session| &**session)
    }

    /// Returns the open incidents of one subject.
    pub fn incidents_of<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = &'a Incident> {
        let first = IncidentKey {
            subject: subject.clone(),
            kind: incident::IncidentKind::CiFailed,
            problem: incident::ProblemId::FIRST,
        };
        self.incidents
            .range(first..)
            .take_while(move |(key, _)| key.subject == *subject)
            .map(|(_, incident)| incident)
    }

    /// Returns the time at which a timer is due next.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.index.timers.next()
    }

    /// Returns the timers that are due, at most `limit` of them.
    pub(crate) fn due(&self, now: Timestamp, limit: usize) -> Vec<StateTimer> {
        self.index.timers.due(now, limit)
    }

    /// Returns the budgets that are spent.
    pub(crate) fn capped(&self) -> impl Iterator<Item = (&BudgetScope, &BudgetCap)> {
        let cap = |budget| self.budget_usage.get(budget).and_then(|usage| usage.cap.as_ref());
        self.index.capped.iter().filter_map(move |budget| Some((budget, cap(budget)?)))
    }

    pub(crate) fn next_notice(&self) -> NoticeId {
        NoticeId(self.next_notice.saturating_add(1))
    }

    pub(crate) fn next_job(&self) -> JobId {
        JobId(self.next_job.saturating_add(1))
    }

    /// Returns true if a budget that the session shares is one of time.
    pub(crate) fn counts_time(&self, session: &Session) -> bool {
        counts_time(&self.settings, &self.projects, session)
    }

    /// Returns the notices about an incident that are not sent yet.
    pub(crate) fn notices_about(&self, key: &IncidentKey) -> impl Iterator<Item = NoticeId> {
        self.index.notices.get(key).into_iter().flatten().copied()
    }

    /// Returns true if a job with this key is open.
    pub(crate) fn is_ordered(&self, key: &str) -> bool {
        self.index.jobs.contains_key(key)
    }

    pub(crate) fn judge(&self) -> ConditionJudge {
        self.judge
    }

    /// Returns the live orchestrator of a project.
    pub(crate) fn orchestrator_in(&self, project: &ProjectId) -> Option<&Session> {
        self.index.orchestrators.get(project).and_then(|id| self.sessions.get(id)).map(|session| &**session)
    }

    pub(crate) fn was_told(&self, key: &str) -> bool {
        self.index.told.contains(key)
    }
}
