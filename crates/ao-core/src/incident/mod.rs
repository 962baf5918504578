//! Incidents: problems that open and clear, and the ladder of reactions to them.
//!
//! ```text
//!              seen (again, or on a new revision)
//!                 ▼
//!  opened ─► the agent, at most `attempts` times ─► the orchestrator, once ─► a person, once ─► silence
//!     │
//!     ├── doubted: chance? the base's fault? ─► the check is run again, the base is asked, nobody is woken
//!     │
//!     └── not seen for `stable_clear` ─► closed
//! ```
//!
//! The count belongs to the problem and not to its state, so that flicker, restarts and new commits with the same
//! failure spend one budget. It starts anew only after the problem has truly gone.

mod context;
mod doubt;
mod evolve;
mod kind;
mod ladder;
mod problem;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::ReactionRound;
use crate::keyed::Keyed;
use crate::reaction::ReactionAction;
use crate::{Commit, ProjectId, PullId, SessionId, Timestamp};

pub(crate) use context::IncidentContext;
pub use doubt::FailureDoubt;
pub(crate) use evolve::evolve;
pub use kind::{BadEventName, EventName, IncidentKind};
pub(crate) use ladder::{ONLY_A_PERSON, decide};
pub use problem::{ObservedProblem, ProblemId};

/// Number of commits with attempted fixes that are remembered.
const TRIED_KEPT: usize = 5;

/// The thing that a problem concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The machine that the daemon runs on.
    Host,
    Project(ProjectId),
    Session(SessionId),
    Pull(PullId),
}

/// Identity of an incident: the same key is the same problem, however often it flickers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IncidentKey {
    pub subject: Subject,
    pub kind: IncidentKind,
    pub problem: ProblemId,
}

/// An open problem and the actions taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    pub key: IncidentKey,
    pub opened: Timestamp,
    pub revision: String,
    pub detail: String,
    /// Time since when it has not been seen.
    pub absent: Option<Timestamp>,
    /// Times that the reaction has acted.
    pub acted: u32,
    /// The revision of the last action.
    pub acted_on: Option<String>,
    pub level: EscalationLevel,
    /// Time at which the present level was reached or last acted on.
    pub since: Timestamp,
    /// Time at which the next level is due.
    pub due: Option<Timestamp>,
    /// The reason why no agent has been woken for it yet.
    pub doubt: Option<FailureDoubt>,
    /// Time since when it is doubted.
    pub doubted: Option<Timestamp>,
    /// The revision on which the doubt was resolved.
    pub believed: Option<String>,
    /// Remark beside the details: the result of the doubts, or of a job.
    pub remark: String,
    /// The heads at which the agent got a message about it: the attempted fixes.
    pub tried: Vec<AttemptedFix>,
    /// The action failed, so the agent gets a message instead.
    pub instead: bool,
    /// The revision that was answered in its thread; now it is the reviewer's turn.
    pub answered: Option<String>,
}

/// A commit that was the head when the agent got a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptedFix {
    pub commit: Commit,
    /// The first line of its message, if the forge reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The one who handles an incident now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationLevel {
    Agent,
    Orchestrator,
    Person,
    /// Nothing is done: it was only recorded.
    None,
}

/// Input for an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncidentInput {
    /// The problem exists.
    Seen(ObservedProblem),
    /// The problem was not seen.
    Absent,
    /// The next level, or a delayed action, is due.
    Due,
    /// The message about it was withdrawn before the agent got it.
    Unsaid,
    /// The message about it was given up: its receiver did not take it.
    NotHeard {
        /// The level that the message was for.
        by: EscalationLevel,
        why: String,
    },
    /// A job that it requested was done or failed, with a remark.
    Job { round: ReactionRound, result: Result<String, String> },
    /// The head has moved since its agent got the message.
    Addressed { commit: Commit },
    /// Its subject is gone.
    Gone,
}

/// Event of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentEvent {
    /// It was seen for the first time.
    Opened { revision: String, detail: String },
    /// It was seen on another revision.
    Revised { revision: String, detail: String },
    /// It was not seen, and closes unless it returns by then.
    Vanished { until: Timestamp },
    /// It was seen again.
    Returned { due: Option<Timestamp> },
    /// `told` is the revision that the agent already knows, so that it gets only the news.
    Acted {
        action: ReactionAction,
        told: Option<String>,
        due: Timestamp,
        /// The head of the pull request that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<AttemptedFix>,
    },
    /// It was passed on to this level.
    Escalated { to: EscalationLevel, due: Option<Timestamp>, why: String },
    /// It was only recorded and is handled after all.
    Reopened {},
    /// It is only recorded.
    Recorded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
    },
    /// Its next action waits until then.
    Waiting { due: Timestamp },
    /// It may be flaky, or not its agent's fault. No message is sent until that is known, or the time is up.
    Doubted { doubt: FailureDoubt, due: Option<Timestamp> },
    /// The doubt is resolved. `why` is the reason, if it was not an observation.
    Believed { why: String, due: Timestamp },
    /// A job for it has finished. Observations decide whether it helped.
    Noted { said: String },
    /// A job for it has failed. `instead`: the agent gets messages from now on.
    Failed { why: String, due: Option<Timestamp>, instead: bool },
    /// It was answered in its thread, with this commit.
    Answered { revision: String, commit: Commit },
    /// The last action failed, and does not count.
    Unsaid {},
    /// It is resolved.
    Closed {},
}

impl Keyed for Incident {
    type Key = IncidentKey;

    fn key(&self) -> IncidentKey {
        self.key.clone()
    }
}

impl Incident {
    /// Returns true if a result of this round is not stale.
    pub(crate) fn awaits(&self, round: &ReactionRound) -> bool {
        round.opened == self.opened
            && round.revision.as_ref().is_none_or(|revision| *revision == self.revision)
            && round.acted.is_none_or(|acted| acted == self.acted)
    }

    pub(crate) fn opened(key: &IncidentKey, revision: &str, detail: &str, at: Timestamp) -> Incident {
        Incident {
            key: key.clone(),
            opened: at,
            revision: revision.to_owned(),
            detail: detail.to_owned(),
            absent: None,
            acted: 0,
            acted_on: None,
            level: EscalationLevel::Agent,
            since: at,
            due: None,
            doubt: None,
            doubted: None,
            believed: None,
            remark: String::new(),
            tried: vec![],
            instead: false,
            answered: None,
        }
    }

    /// Returns true if its present revision has not been acted on.
    pub fn is_fresh(&self) -> bool {
        self.acted_on.as_deref() != Some(self.revision.as_str())
    }
}

impl IncidentKind {
    /// Returns whether it is a custom event, which is over at once unless it is raised again: the core cannot observe
    /// it.
    pub(crate) fn is_moment(&self) -> bool {
        matches!(self, IncidentKind::Custom(_))
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
