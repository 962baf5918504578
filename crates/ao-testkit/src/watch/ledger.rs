//! The promises of the log so far, in the simplest form that can be checked.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::incident::{EscalationLevel, IncidentKey};
use ao_core::queue::MergeRequest;
use ao_core::{AskId, Attempt, JobId, PullId, SessionId, Timestamp};

use super::alarms::AlarmLedger;

/// The records of the watch.
#[derive(Debug, Default)]
pub(crate) struct LogLedger {
    pub(super) admitted: BTreeSet<(SessionId, Attempt)>,
    pub(super) launching: BTreeSet<(SessionId, Attempt)>,
    pub(super) ends: BTreeSet<(SessionId, Attempt)>,
    pub(super) removals: BTreeSet<SessionId>,
    pub(super) deliveries: BTreeSet<(SessionId, u32)>,
    pub(super) landing: BTreeSet<PullId>,
    /// The requests to merge something at once.
    pub(super) requests: Vec<(PullId, MergeRequest)>,
    pub(super) messages: BTreeMap<SessionId, BTreeMap<u32, MessagePlace>>,
    pub(super) problems: BTreeMap<IncidentKey, IncidentCounts>,
    pub(super) notices: BTreeMap<String, NoticeProgress>,
    /// The keys of notices that failed deliveries must lead to.
    pub(super) owed: BTreeSet<String>,
    /// Problems whose news was given up in this very commit, with the level that should have got it.
    pub(super) given_up_news: BTreeMap<IncidentKey, EscalationLevel>,
    pub(super) patience: BTreeMap<SessionId, RetryCounts>,
    pub(super) alarms: AlarmLedger,
    /// The texts of all answers, by their numbers.
    pub(super) answers: BTreeMap<(SessionId, u32), String>,
    /// The asks that were reported by an id.
    pub(super) asks: BTreeSet<(SessionId, Attempt, AskId)>,
    /// The jobs that were ordered.
    pub(super) jobs: BTreeSet<JobId>,
    /// The time of each account's last refusal.
    pub(super) refused: BTreeMap<String, Timestamp>,
    /// The highest cap that was ever in force.
    pub(crate) widest_cap: u32,
}

/// The state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePlace {
    Waiting,
    UnderWay(u32),
    Accepted,
    Failed,
    Withdrawn,
}

/// The reactions to a problem since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IncidentCounts {
    pub(super) acted: u32,
    pub(super) persons: u32,
}

/// The progress of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoticeProgress {
    Raised { retries: u32 },
    Sent,
    GivenUp,
}

/// Fruitless attempts for a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RetryCounts {
    pub(super) restarts: u32,
    pub(super) launches: u32,
}

impl LogLedger {
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

    /// Returns the text of an answer that a person has given.
    pub(crate) fn answer(&self, session: SessionId, number: u32) -> Option<&String> {
        self.answers.get(&(session, number))
    }

    pub(crate) fn was_landing(&self, pull: &PullId) -> bool {
        self.landing.contains(pull)
    }

    /// Returns true if a person has requested to merge a pull request at once.
    pub(crate) fn has_asked(&self, by: &str, pull: &PullId) -> bool {
        self.requests.iter().any(|(of, request)| of == pull && request.by == by)
    }

    /// Returns true if a person has requested to merge a pull request without its checks.
    pub(crate) fn may_skip_checks(&self, pull: &PullId) -> bool {
        self.requests.iter().any(|(of, request)| of == pull && !request.runs_checks())
    }

    pub(crate) fn was_ordered(&self, job: JobId) -> bool {
        self.jobs.contains(&job)
    }

    pub(crate) fn was_raised(&self, key: &str) -> bool {
        self.notices.contains_key(key)
    }

    /// Returns the messages of a session that have no final state yet.
    pub(super) fn open(&self, session: SessionId) -> impl Iterator<Item = u32> {
        self.messages
            .get(&session)
            .into_iter()
            .flatten()
            .filter(|(_, place)| matches!(place, MessagePlace::Waiting | MessagePlace::UnderWay(_)))
            .map(|(no, _)| *no)
    }
}
