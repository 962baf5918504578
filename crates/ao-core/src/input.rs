//! Inputs of the core: requests of people, observations, results of effects, and timers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::budget::{Budget, BudgetInput, Limits};
use crate::errand::{Behalf, ErrandInput, Order};
use crate::forecast::Clash;
use crate::incident::{IncidentInput, IncidentKey, IncidentKind, Subject};
use crate::notice::{Level, NoticeInput};
use crate::project::ProjectInput;
use crate::pull::PullInput;
use crate::queue::QueueInput;
use crate::session::{AgentChoice, Role, SessionInput};
use crate::settings::Settings;
use crate::setup::Origin;
use crate::task::TaskFacts;
use crate::{Attempt, ErrandId, NoticeId, ProjectId, PullId, SessionId, TaskId, Timestamp};

/// An input of the core, which `decide` turns into events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Configure(Box<Settings>),
    Project {
        project: ProjectId,
        input: ProjectInput,
    },
    Budget {
        budget: Budget,
        input: BudgetInput,
    },
    Task {
        task: TaskId,
        facts: Box<TaskFacts>,
    },
    Spawn(Box<SpawnRequest>),
    Session {
        session: SessionId,
        input: SessionInput,
    },
    Pull {
        pull: PullId,
        input: PullInput,
    },
    Queue {
        project: ProjectId,
        input: QueueInput,
    },
    Incident {
        key: IncidentKey,
        input: IncidentInput,
    },
    Notice {
        notice: NoticeId,
        input: NoticeInput,
    },
    Errand {
        errand: ErrandId,
        input: ErrandInput,
    },
    /// A job is to be run. A second one with the same key is ignored while the first is open.
    Order {
        key: String,
        order: Box<Order>,
        behalf: Behalf,
    },
    /// The clashes in a project, and the files that each session has changed. Complete: what is missing is over.
    Forecast {
        project: ProjectId,
        clashes: Vec<Clash>,
        touched: BTreeMap<SessionId, Vec<String>>,
    },
    /// Free memory on the host that runs the agents.
    Host {
        free_mb: u64,
    },
    /// The processes of ours that a runtime knows.
    Census(Census),
    /// An account may not be used until then.
    AccountLimited {
        account: String,
        until: Timestamp,
    },
    AccountDue {
        account: String,
    },
    /// A process that should not exist has ended.
    StrayEnded {
        session: SessionId,
        attempt: Attempt,
    },
    /// Send a notice to a person, once per key.
    Tell {
        level: Level,
        subject: Subject,
        key: String,
        text: String,
        /// The one channel that it goes to; if absent, those for its level.
        channel: Option<String>,
    },
    /// The day has ended, and its digest is due. Sent once per day.
    Digest {
        day: String,
    },
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
    Clear {
        subject: Subject,
        kind: IncidentKind,
        problem: String,
    },
    /// Compare the problems of a subject with its open incidents.
    Review(Subject),
    /// Give free slots to those that wait.
    Schedule,
    /// Do what time has made due.
    Tick,
}

/// A request for a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnRequest {
    pub project: ProjectId,
    pub task: Option<TaskId>,
    pub role: Role,
    pub title: String,
    pub prompt: String,
    /// The requested name; derived from the task or the title if absent.
    pub name: Option<String>,
    /// The requested branch; the tracker's own name for it, or `agent/<name>`, if absent.
    pub branch: Option<String>,
    pub origin: Origin,
    pub agent: AgentChoice,
    pub runtime: String,
    pub workspace: String,
    pub priority: i32,
    pub limits: Limits,
    /// A person vouches for the task, regardless of its author. An agent cannot.
    pub trusted: bool,
}

/// All processes of ours that a runtime knows, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Census {
    pub runtime: String,
    /// The start of the look: processes started later are not in it.
    pub began: Timestamp,
    pub seen: Vec<Counted>,
}

/// One process in a census.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub session: SessionId,
    pub attempt: Attempt,
    pub life: Life,
}

/// The state of a process. A failed look is not a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    Alive {
        busy: bool,
    },
    Gone {
        code: Option<i32>,
    },
    /// It lives, but its holder is gone for certain: its terminal or pipes cannot be read or written any more.
    Unheld,
    Unknown,
}
