//! Inputs of the core: requests, observations, results of effects, and timers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::budget::{BudgetInput, BudgetScope};
use crate::forecast::Clash;
use crate::incident::{IncidentInput, IncidentKey, IncidentKind, Subject};
use crate::job::{JobInput, JobOrder, Requester};
use crate::notice::{NewNotice, NoticeInput, NoticeLevel};
use crate::project::ProjectInput;
use crate::pull::PullInput;
use crate::queue::QueueInput;
use crate::session::{SessionInput, SessionSpec};
use crate::settings::DaemonSettings;
use crate::task::TaskFacts;
use crate::{Attempt, JobId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp};

/// An input of the core, which `decide` turns into events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The settings of the daemon.
    Configure(Box<DaemonSettings>),
    /// For a project.
    Project { project: ProjectId, input: ProjectInput },
    /// For a budget that several sessions share.
    Budget { budget: BudgetScope, input: BudgetInput },
    /// A task as the tracker has it.
    Task { task: TaskId, facts: Box<TaskFacts> },
    /// Makes a session.
    Spawn(Box<SpawnRequest>),
    /// For a session.
    Session { session: SessionId, input: SessionInput },
    /// For a pull request.
    Pull { pull: PullId, input: PullInput },
    /// For the merge queues of a project.
    Queue { project: ProjectId, input: QueueInput },
    /// For an incident.
    Incident { key: IncidentKey, input: IncidentInput },
    /// For a notice.
    Notice { notice: NoticeId, input: NoticeInput },
    /// For a job.
    Job { job: JobId, input: JobInput },
    /// A job is to be done. While one with the same key is open, a second is the same.
    Order { key: String, order: Box<JobOrder>, requester: Requester },
    /// The clashes of a project and the files that each session has changed. Complete: what is missing is over.
    Forecast { project: ProjectId, clashes: Vec<Clash>, touched: BTreeMap<SessionId, Vec<String>> },
    /// Free memory on the host that runs the agents.
    Host { free_mb: u64 },
    /// The processes that a runtime runs for us.
    Census(Census),
    /// An account may not be used until then.
    AccountLimited { account: String, until: Timestamp },
    /// The limit of an account may be over.
    AccountDue { account: String },
    /// A process that should not exist has ended.
    StrayEnded { session: SessionId, attempt: Attempt },
    /// Notify a person, once per key.
    Tell(Box<NewNotice>),
    /// The day has ended, and its digest is due. Sent once per day.
    Digest { day: String },
    /// A custom event has happened, or has new content.
    Raise {
        subject: Subject,
        /// Always a custom kind.
        kind: IncidentKind,
        problem: String,
        revision: String,
        detail: String,
    },
    /// A custom event is over.
    Clear { subject: Subject, kind: IncidentKind, problem: String },
    /// Compare the problems of a subject with its open incidents.
    Review(Subject),
    /// Give free slots to those that wait.
    Schedule,
    /// Do what time has made due.
    Tick,
}

impl Input {
    /// Returns the input that notifies a person, once per key.
    pub fn notify(
        level: NoticeLevel,
        subject: Subject,
        key: impl Into<String>,
        text: impl Into<String>,
    ) -> Input {
        Input::Tell(Box::new(NewNotice::new(level, subject, key, text)))
    }
}

/// A request for a new session. A name or branch that is absent is chosen: the name from the task or the title, the branch
/// from the tracker or as `agent/<name>`.
pub type SpawnRequest = SessionSpec<Option<String>>;

/// All processes that a runtime runs for us, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Census {
    pub runtime: String,
    /// Time at which it began: processes that were started later are not in it.
    pub began: Timestamp,
    pub seen: Vec<CountedProcess>,
}

/// One process in a census.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedProcess {
    pub session: SessionId,
    pub attempt: Attempt,
    pub life: ProcessLife,
}

/// State of a process. A failed look is not a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessLife {
    /// It lives, and uses the processor or not.
    Alive { busy: bool },
    /// It has ended. There is no code if a signal ended it.
    Gone { code: Option<i32> },
    /// It lives, but its holder is gone for certain: its terminal or pipes cannot be read or written any more.
    Unheld,
    /// It is unknown.
    Unknown,
}
