//! Events. They are the only thing that is stored; everything else is derived from them.

use serde::{Deserialize, Serialize};

use crate::budget::{BudgetEvent, BudgetScope};
use crate::incident::{IncidentEvent, IncidentKey, Subject};
use crate::job::JobEvent;
use crate::notice::NoticeEvent;
use crate::project::ProjectEvent;
use crate::pull::PullEvent;
use crate::queue::QueueEvent;
use crate::session::SessionEvent;
use crate::settings::DaemonSettings;
use crate::task::TaskEvent;
use crate::{Attempt, JobId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp};

/// An event, with the thing it happened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Host(HostEvent),
    Account(String, AccountEvent),
    Project(ProjectId, ProjectEvent),
    Task(TaskId, TaskEvent),
    Session(SessionId, SessionEvent),
    Pull(PullId, PullEvent),
    Queue(ProjectId, QueueEvent),
    Incident(IncidentKey, IncidentEvent),
    Notice(NoticeId, NoticeEvent),
    Job(JobId, JobEvent),
    /// A budget that several sessions share.
    Budget(BudgetScope, BudgetEvent),
}

/// An event with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampedEvent {
    pub at: Timestamp,
    pub event: Event,
}

/// Event of the host and the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEvent {
    /// The settings were changed.
    Configured { settings: Box<DaemonSettings> },
    /// There is too little free memory to start agents.
    MemoryScarce { free_mb: u64 },
    /// There is enough free memory again.
    MemoryEnough { free_mb: u64 },
    /// A process of a session that should have none; it will be ended.
    StrayFound { session: SessionId, attempt: Attempt, runtime: String },
    /// Such a process has ended.
    StrayEnded { session: SessionId, attempt: Attempt },
    /// So many processes vanished at once that the look is considered faulty.
    CensusDoubted { runtime: String, missing: u32, expected: u32 },
}

/// Event of an account with a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountEvent {
    Limited { until: Timestamp },
    Reset {},
}

/// The part of the state whose wants an event may have changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Host,
    Session(SessionId),
    Project(ProjectId),
    Notice(NoticeId),
    Job(JobId),
}

impl Event {
    /// Returns the part whose wants have to be looked at after this event.
    pub fn scope(&self) -> Option<Scope> {
        match self {
            Event::Host(_) => Some(Scope::Host),
            Event::Session(session, _) => Some(Scope::Session(*session)),
            Event::Queue(project, _) | Event::Project(project, _) => Some(Scope::Project(project.clone())),
            Event::Notice(notice, _) => Some(Scope::Notice(*notice)),
            Event::Job(job, _) => Some(Scope::Job(*job)),
            Event::Account(..)
            | Event::Task(..)
            | Event::Pull(..)
            | Event::Incident(..)
            | Event::Budget(..) => None,
        }
    }

    /// Returns the subject of the event, as the log's index has it.
    pub fn concerns(&self) -> String {
        match self {
            Event::Host(_) => "host".into(),
            Event::Account(account, _) => account.clone(),
            Event::Project(project, _) | Event::Queue(project, _) => project.to_string(),
            Event::Task(task, _) => task.to_string(),
            Event::Session(session, _) => session.to_string(),
            Event::Pull(pull, _) => pull.to_string(),
            Event::Incident(key, _) => key.subject.to_string(),
            Event::Notice(notice, _) => notice.to_string(),
            Event::Job(job, _) => job.to_string(),
            Event::Budget(budget, _) => budget.to_string(),
        }
    }

    /// Returns the session that the event concerns, if it does.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Event::Session(session, _) => Some(*session),
            Event::Incident(IncidentKey { subject: Subject::Session(session), .. }, _) => Some(*session),
            _ => None,
        }
    }
}
