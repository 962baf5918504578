//! A problem as it is observed, and its identity among the problems of one subject.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::IncidentKind;
use crate::budget::BudgetScope;
use crate::{Attempt, Commit, Timestamp};

/// A problem that exists now, as a pull request, a session, a project or the host shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedProblem {
    pub kind: IncidentKind,
    pub id: ProblemId,
    /// The head commit or comment that shows it. The same problem on a new revision is worth a new message, but spends the
    /// same attempts.
    pub revision: String,
    /// Facts that the agent needs to act on it.
    pub detail: String,
}

/// Identity of a problem among those of one kind and one subject.
///
/// Within one kind, different ids have different texts, so a text can stand for its id in the keys of notices and jobs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemId {
    /// The pull request was merged.
    Merged,
    /// The pull request was closed without a merge.
    Closed,
    /// The session is idle and has no pull request.
    NoPull,
    /// The process of the session does not end.
    Unstoppable,
    /// The agent reports that it cannot go on, since then.
    Blocked(Timestamp),
    /// Nothing is known of the agent since then.
    Silent(Timestamp),
    /// Something that lasts and began then: an open dialog, a spent budget, a project without work.
    Since(Timestamp),
    /// The ask of an agent with this number.
    Ask(u32),
    /// The attempt that failed.
    Attempt(Attempt),
    /// A check that fails with this signature.
    Check { check: String, signature: String },
    /// A check that fails on the base branch itself.
    BaseCheck { branch: String, check: String },
    /// The base branch that a pull request conflicts with.
    Base(String),
    /// The head that is ready, or that waits for a person.
    Head(Commit),
    /// The review thread that asks for something.
    Thread(String),
    /// The review that asks for something.
    Review(String),
    /// The label that was added.
    Label(String),
    /// The part of a repository that was changed.
    Changed(String),
    /// The account that a provider refuses.
    Account(String),
    /// A budget that several sessions share, and the time since when it is spent.
    Budget { budget: BudgetScope, since: Timestamp },
    /// The key of a user's own event.
    Event(String),
}

impl ProblemId {
    /// The least id in order, from which the problems of a subject are listed.
    pub(crate) const FIRST: ProblemId = ProblemId::Merged;
}

impl fmt::Display for ProblemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemId::Merged => f.write_str("merged"),
            ProblemId::Closed => f.write_str("closed"),
            ProblemId::NoPull => f.write_str("no pull request"),
            ProblemId::Unstoppable => f.write_str("stop"),
            ProblemId::Blocked(since) => write!(f, "blocked {since}"),
            ProblemId::Silent(since) => write!(f, "unknown {since}"),
            ProblemId::Since(since) => write!(f, "since {since}"),
            ProblemId::Ask(number) => write!(f, "ask {number}"),
            ProblemId::Attempt(attempt) => write!(f, "attempt {attempt}"),
            ProblemId::Check { check, signature } => write!(f, "{} {signature}", Name(check)),
            ProblemId::BaseCheck { branch, check } => write!(f, "{} {check}", Name(branch)),
            ProblemId::Review(id) => write!(f, "review {id}"),
            ProblemId::Thread(name) => Name(name).fmt(f),
            ProblemId::Head(head) => head.fmt(f),
            ProblemId::Budget { budget, since } => write!(f, "{budget} since {since}"),
            ProblemId::Base(name)
            | ProblemId::Label(name)
            | ProblemId::Changed(name)
            | ProblemId::Account(name)
            | ProblemId::Event(name) => f.write_str(name),
        }
    }
}

/// A name that something follows after a blank: quoted if it has blanks itself, so that its end can be seen.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() || self.0.contains(|c: char| c == '"' || c.is_whitespace()) {
            true => write!(f, "{:?}", self.0),
            false => f.write_str(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(check: &str, signature: &str) -> ProblemId {
        ProblemId::Check { check: check.into(), signature: signature.into() }
    }

    #[test]
    fn checks_and_signatures_with_blanks_stay_apart() {
        let text = |check: &str, signature: &str| self::check(check, signature).to_string();
        assert_eq!(text("build", "E0308"), "build E0308");
        assert_eq!(text("unit tests", "login"), r#""unit tests" login"#);
        assert_ne!(text("unit", "tests login"), text("unit tests", "login"));
        assert_ne!(text(r#""unit"#, r#"tests" login"#), text("unit tests", "login"));
        assert_ne!(text("", "login"), text("login", ""));
    }

    #[test]
    fn a_thread_and_a_review_with_the_same_id_are_two_problems() {
        let (thread, review) = (ProblemId::Thread("review 5".into()), ProblemId::Review("5".into()));
        assert_ne!(thread, review);
        assert_ne!(thread.to_string(), review.to_string());
    }

    #[test]
    fn no_id_comes_before_the_first() {
        for id in [ProblemId::Closed, ProblemId::NoPull, check("a", "b"), ProblemId::Event(String::new())] {
            assert!(ProblemId::FIRST < id, "{id:?}");
        }
    }
}
