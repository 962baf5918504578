//! Problems that open and clear, and the ladder of what is done about them.
//!
//! ```text
//!              seen (again, or on a new revision)
//!                 ▼
//!  opened ─► the agent, at most `attempts` times ─► the orchestrator, once ─► a person, once ─► silence
//!     │
//!     └── not seen for `stable_clear` ─► closed
//! ```
//!
//! The count belongs to the problem and not to its state, so that flicker, restarts and new commits with the same
//! failure spend one budget. It starts anew only after the problem has truly gone.

mod kind;
mod ladder;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reaction::Action;
use crate::{ProjectId, PullId, SessionId, Timestamp};

pub use kind::{BadEventName, EventName, IncidentKind};
pub(crate) use ladder::{Helpers, decide, evolve};

/// Whom a problem concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The machine that we run on.
    Host,
    Project(ProjectId),
    Session(SessionId),
    Pull(PullId),
}

/// Which problem: the same key is the same problem, however often it flickers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IncidentKey {
    pub subject: Subject,
    pub kind: IncidentKind,
    /// What tells it from others of its kind: check and failure signature, thread, base branch.
    pub problem: String,
}

/// A problem that exists now, as a pull request or a session shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: IncidentKind,
    pub problem: String,
    /// What it was seen on: the head commit, the comment's revision. The same problem on a new revision is worth a
    /// new message, but spends the same budget.
    pub revision: String,
    /// What the agent needs to know to act on it.
    pub detail: String,
}

/// An open problem and what has been done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    pub key: IncidentKey,
    pub opened: Timestamp,
    pub revision: String,
    pub detail: String,
    /// Since when it has not been seen.
    pub absent: Option<Timestamp>,
    /// How often the reaction has acted.
    pub acted: u32,
    /// The revision that the last act was about.
    pub acted_on: Option<String>,
    pub rung: Rung,
    /// When the present rung was reached or last acted on.
    pub since: Timestamp,
    /// When patience with the present rung ends.
    pub due: Option<Timestamp>,
}

/// Who has been asked to help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    Agent,
    Orchestrator,
    Person,
    /// Nobody needs to be: it was recorded, and that is all.
    Nobody,
}

/// What can come in for an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncidentInput {
    Seen(Problem),
    Absent,
    Due,
    /// News of it was taken back before the agent had it.
    Unsaid,
    /// What it is about is no more.
    Gone,
}

/// What happened to an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentEvent {
    Opened {
        revision: String,
        detail: String,
    },
    Revised {
        revision: String,
        detail: String,
    },
    Vanished {
        until: Timestamp,
    },
    Returned {
        due: Option<Timestamp>,
    },
    /// `told` is the revision that the agent already knows, so that it gets what is new since.
    Acted {
        action: Action,
        told: Option<String>,
        due: Timestamp,
    },
    Escalated {
        to: Rung,
        due: Option<Timestamp>,
        why: String,
    },
    Recorded {},
    Waiting {
        due: Timestamp,
    },
    /// The last act came to nothing, and does not count.
    Unsaid {},
    Closed {},
}

impl Incident {
    pub(crate) fn opened(key: &IncidentKey, revision: &str, detail: &str, at: Timestamp) -> Incident {
        Incident {
            key: key.clone(),
            opened: at,
            revision: revision.to_owned(),
            detail: detail.to_owned(),
            absent: None,
            acted: 0,
            acted_on: None,
            rung: Rung::Agent,
            since: at,
            due: None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Host => f.write_str("host"),
            Subject::Project(project) => write!(f, "{project}"),
            Subject::Session(session) => write!(f, "{session}"),
            Subject::Pull(pull) => write!(f, "{pull}"),
        }
    }
}

impl fmt::Display for IncidentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ({})", self.kind, self.subject, self.problem)
    }
}
