//! The common parts of trackers and forges: services with rate limits and faults of their own.

use std::time::Duration;

use ao_core::{ProjectId, PullId, TaskId};
use serde::{Deserialize, Serialize};

/// A hint about what to look at. It is never a fact: webhooks come late, twice and not at all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookHint {
    Task(TaskId),
    Pull(PullId),
    Project(ProjectId),
}

impl LookHint {
    pub fn project(&self) -> &ProjectId {
        match self {
            LookHint::Task(task) => &task.project,
            LookHint::Pull(pull) => &pull.project,
            LookHint::Project(project) => project,
        }
    }
}

/// The receiver of hints from a tracker or a forge.
pub trait HintReceiver: Send + Sync {
    /// Never waits: a hint that cannot be taken now is covered by a later poll.
    fn hint(&self, hint: LookHint);
}

const SHORTEST_LIMIT: Duration = Duration::from_secs(1);
const LONGEST_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The reason why a tracker or a forge did not do what it was asked. Both fail in the same ways.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceError {
    #[error("{what} was not found")]
    NotFound { what: String },
    /// The request is invalid, or impossible at present: the caller has to change it.
    #[error("{why}")]
    Refused { why: String },
    #[error("{what} is not possible here")]
    Unsupported { what: String },
    #[error("access to {what} was denied; check the token and its scopes")]
    Denied { what: String },
    /// A rate limit, which some services report as a denial. No look and no job asks again before that time.
    #[error("the quota is used up; it is asked again in {} s", .after.as_secs())]
    Limited { after: Duration },
    #[error("{0}")]
    Failed(String),
}

impl ServiceError {
    pub fn not_found(what: impl Into<String>) -> ServiceError {
        ServiceError::NotFound { what: what.into() }
    }

    pub fn refused(why: impl Into<String>) -> ServiceError {
        ServiceError::Refused { why: why.into() }
    }

    pub fn unsupported(what: impl Into<String>) -> ServiceError {
        ServiceError::Unsupported { what: what.into() }
    }

    /// Returns true for errors that may be over when it is tried again later.
    pub fn may_pass(&self) -> bool {
        matches!(self, ServiceError::Limited { .. } | ServiceError::Failed(_))
    }

    /// Returns the time for which the service is to be left alone. Clocks differ, so a service may name a time in the
    /// past; and one that names a time far away is asked once a day.
    pub fn limited_for(&self) -> Option<Duration> {
        match self {
            ServiceError::Limited { after } => Some((*after).clamp(SHORTEST_LIMIT, LONGEST_LIMIT)),
            _ => None,
        }
    }
}
