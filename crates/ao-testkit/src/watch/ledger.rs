//! What the log has promised so far, kept in the plainest form that can be checked.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::incident::{EscalationLevel, IncidentKey};
use ao_core::queue::MergeRequest;
use ao_core::{Attempt, ErrandId, PullId, SessionId, Timestamp};

use super::alarm::Alarms;

/// The books.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(super) admitted: BTreeSet<(SessionId, Attempt)>,
    pub(super) launching: BTreeSet<(SessionId, Attempt)>,
    pub(super) ends: BTreeSet<(SessionId, Attempt)>,
    pub(super) removals: BTreeSet<SessionId>,
    pub(super) deliveries: BTreeSet<(SessionId, u32)>,
    pub(super) landing: BTreeSet<PullId>,
    /// The requests to merge something at once.
    pub(super) requests: Vec<(PullId, MergeRequest)>,
    pub(super) messages: BTreeMap<SessionId, BTreeMap<u32, Place>>,
    pub(super) problems: BTreeMap<IncidentKey, Told>,
    pub(super) notices: BTreeMap<String, Notice>,
    /// The keys of notices that failed deliveries must lead to.
    pub(super) owed: BTreeSet<String>,
    /// Problems whose news was given up in this very commit, and who was to hear of them.
    pub(super) unheard: BTreeMap<IncidentKey, EscalationLevel>,
    pub(super) patience: BTreeMap<SessionId, Patience>,
    pub(super) alarms: Alarms,
    /// The errands that were wanted.
    pub(super) errands: BTreeSet<ErrandId>,
    /// When each account was last refused.
    pub(super) refused: BTreeMap<String, Timestamp>,
    /// The highest cap that was ever in force.
    pub(crate) widest_cap: u32,
}

/// Where a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Waiting,
    UnderWay(u32),
    Accepted,
    Failed,
    Withdrawn,
}

/// What was done about a problem since it opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) acted: u32,
    pub(super) persons: u32,
}

/// How far a notice has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    Raised { retries: u32 },
    Sent,
    GivenUp,
}

/// What was tried for a session without any good coming of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Patience {
    pub(super) restarts: u32,
    pub(super) launches: u32,
}

impl Ledger {
    pub(crate) fn was_admitted(&self, session: SessionId, attempt: Attempt) -> bool {
        self.admitted.contains(&(session, attempt))
    }

    pub(crate) fn was_launching(&self, session: SessionId, attempt: Attempt) -> bool {
        self.launching.contains(&(session, attempt))
    }

    pub(crate) fn end_wanted(&self, session: SessionId, attempt: Attempt) -> bool {
        self.ends.contains(&(session, attempt))
    }

    pub(crate) fn removal_wanted(&self, session: SessionId) -> bool {
        self.removals.contains(&session)
    }

    pub(crate) fn was_begun(&self, session: SessionId, delivery: u32) -> bool {
        self.deliveries.contains(&(session, delivery))
    }

    pub(crate) fn was_landing(&self, pull: &PullId) -> bool {
        self.landing.contains(pull)
    }

    /// Returns whether a person has asked for a pull request to be merged at once.
    pub(crate) fn has_asked(&self, by: &str, pull: &PullId) -> bool {
        self.requests.iter().any(|(of, request)| of == pull && request.by == by)
    }

    /// Returns whether a person has asked for a pull request to be merged without its checks.
    pub(crate) fn may_skip_checks(&self, pull: &PullId) -> bool {
        self.requests.iter().any(|(of, request)| of == pull && !request.runs_checks())
    }

    pub(crate) fn was_ordered(&self, errand: ErrandId) -> bool {
        self.errands.contains(&errand)
    }

    pub(crate) fn was_raised(&self, key: &str) -> bool {
        self.notices.contains_key(key)
    }

    /// The messages of a session that have no end yet.
    pub(super) fn open(&self, session: SessionId) -> impl Iterator<Item = u32> {
        self.messages
            .get(&session)
            .into_iter()
            .flatten()
            .filter(|(_, place)| matches!(place, Place::Waiting | Place::UnderWay(_)))
            .map(|(no, _)| *no)
    }
}
