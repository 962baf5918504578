//! Advice: what matters now and why, derived from the facts and ranked by how much it unblocks.
//!
//! Advice is for people, and for the agent that steers a project. It decides nothing and triggers nothing. Matters
//! that agents or the daemon handle themselves are left out until they have failed to.

mod circles;
mod clashes;
mod pulls;
mod work;

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use crate::state::State;
pub(crate) use crate::text::shell_quoted as shell;
use crate::work::WorkView;
use crate::{ProjectId, PullId, SessionId, TaskId, Timestamp};

/// The facts that all rules read, gathered once.
type Known<'a> = WorkView<'a>;

/// A piece of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdviceItem {
    /// Starts at 1, the most pressing.
    pub rank: u32,
    pub kind: AdviceKind,
    pub project: Option<ProjectId>,
    pub about: AdviceSubject,
    pub what: String,
    pub why: String,
    /// The number of others that can continue once it is done.
    pub unblocks: u32,
    /// The command to run. Safe to paste: names from outside are quoted.
    pub command: String,
}

/// The subject of a piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdviceSubject {
    Host,
    Project(ProjectId),
    Session(SessionId, String),
    Pull(PullId),
    Task(TaskId),
}

/// The kind of advice. The order is that of urgency, other things being equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdviceKind {
    /// No agent can start.
    Memory,
    /// The base itself fails a check.
    BaseRed,
    /// An agent asks a question.
    Answer,
    /// Only a person can help.
    NeedsYou,
    /// Tasks wait for each other.
    Circle,
    /// A person has to merge it; nothing else is missing.
    Merge,
    /// One open thread is the only obstacle to a merge.
    Thread,
    /// A pull request waits for a person's review, or for a decision that its policy leaves to a person.
    Review,
    /// Others wait for this pull request.
    Blocks,
    /// Two branches will conflict with each other.
    Clash,
    /// A budget or a provider's limit holds agents.
    Spent,
    /// An agent spends its budget and has shown no result.
    Burns,
    /// A task waits for a person who vouches for its author.
    Trust,
    /// A task could not be assigned to an agent.
    Unassigned,
    /// A failure that was flaky before.
    Flaky,
}

/// Returns all advice, the most pressing first.
pub fn advise(state: &State, now: Timestamp, project: Option<&ProjectId>) -> Vec<AdviceItem> {
    let rules = [
        work::memory,
        work::answers,
        work::needs_you,
        circles::circles,
        work::spent,
        work::burns,
        work::tasks,
        pulls::base_red,
        pulls::pulls,
        pulls::flaky,
        clashes::clashes,
    ];
    let known = Known::of(state, now);
    let mut advice: Vec<AdviceItem> = rules.iter().flat_map(|rule| rule(&known)).collect();
    // Includes everything else that waits for a person, so that no advice means that nothing does.
    let rest = work::rest(&known, &advice);
    advice.extend(rest);
    advice.retain(|one| project.is_none() || one.project.is_none() || one.project.as_ref() == project);
    // Unblocking others can outweigh urgency: each of them counts as much as two kinds. A change that others wait for
    // and only a person holds up comes before everything that unblocks as many.
    let kind = |one: &AdviceItem| match one.kind {
        AdviceKind::Review | AdviceKind::Merge if one.unblocks > 0 => -1,
        kind => i64::from(kind as u8),
    };
    let pressing = |one: &AdviceItem| kind(one) - 2 * i64::from(one.unblocks.min(50));
    advice.sort_by_cached_key(|one| (pressing(one), Reverse(one.unblocks), one.about.clone()));
    for (n, one) in advice.iter_mut().enumerate() {
        one.rank = n as u32 + 1;
    }
    advice
}

impl AdviceItem {
    fn new(
        kind: AdviceKind,
        project: Option<&ProjectId>,
        about: AdviceSubject,
        what: String,
        why: String,
    ) -> AdviceItem {
        AdviceItem {
            rank: 0,
            kind,
            project: project.cloned(),
            about,
            what,
            why,
            unblocks: 0,
            command: String::new(),
        }
    }

    fn unblocks(self, unblocks: usize) -> AdviceItem {
        AdviceItem { unblocks: u32::try_from(unblocks).unwrap_or(u32::MAX), ..self }
    }

    fn command(self, command: String) -> AdviceItem {
        AdviceItem { command, ..self }
    }
}

/// Formats the number of waiters: `3 others wait for it`, or nothing.
fn others_wait(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; one other waits for it".into(),
        others => format!("; {others} others wait for it"),
    }
}

/// Formats the time since `at`, in the largest unit that fits.
fn since(now: Timestamp, at: Timestamp) -> String {
    let seconds = now.since(at).max(Duration::ZERO).as_secs();
    match seconds {
        0..60 => "less than a minute".into(),
        60..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

impl fmt::Display for AdviceSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdviceSubject::Host => write!(f, "this machine"),
            AdviceSubject::Project(project) => write!(f, "{project}"),
            AdviceSubject::Session(_, name) => write!(f, "{name}"),
            AdviceSubject::Pull(pull) => write!(f, "{pull}"),
            AdviceSubject::Task(task) => write!(f, "{task}"),
        }
    }
}
