//! The status of a piece of work: its pull request, checks, review, and the party that acts next.
//!
//! ```text
//!  pull request: facts, policy, queue, incidents ─► PullWork ┐
//!  session: phase, evidence, holds ──────────────────────────┴─► SessionWork: turn, stage, text, command
//! ```
//!
//! The process alone reveals little: an agent that has exited with its change open for review waits for a person, and
//! so does one at its prompt. The turn is derived only here; lists, advice, notices and the dashboard read it.

mod pull;
mod session;
mod waiters;

use crate::incident::{IncidentKey, IncidentKind, ProblemId, Subject};
use crate::pull::{ChecksVerdict, Pull};
use crate::session::Session;
use crate::state::State;
use crate::{ProjectId, PullId, Timestamp};

pub(crate) use waiters::Waiters;

/// The party that acts next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkTurn {
    /// A person.
    You,
    /// The agent, or what starts it.
    Agent,
    /// The checks.
    Checks,
    /// The merge queue.
    Queue,
    /// Time: a slot, a provider's limit, a freeze, a pause.
    Wait,
    /// Finished.
    Done,
}

/// The stage that a piece of work has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkStage {
    // Without a pull request, or regardless of it.
    Queued,
    Starting,
    Working,
    /// A running agent gives no signals, but not for long enough to count as stuck.
    Quiet,
    Idle,
    /// An agent asks a question.
    Question,
    /// An agent cannot go on: it is stuck, has failed or could not start.
    Stuck,
    /// A budget is spent.
    Budget,
    /// A provider refuses more for now.
    Limit,
    Paused,
    Stopping,
    Stopped,
    // By the pull request.
    Draft,
    Conflict,
    ChecksFailed,
    ChecksPending,
    /// A check could not be run, for reasons unrelated to the change.
    ChecksBroken,
    ChangesRequested,
    Review,
    /// The policy forbids it, and only a person can decide how to go on.
    Decision,
    /// A person has to merge it; nothing else is missing.
    Merge,
    MergeQueue,
    Freeze,
    Merged,
    Closed,
}

/// The next step, and who takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    pub turn: WorkTurn,
    pub stage: WorkStage,
    /// Continues a sentence that starts with a name: `waits for your review`.
    pub says: String,
    pub since: Timestamp,
    /// The command for a person, if there is one. Safe to paste.
    pub command: Option<String>,
    /// The command after that.
    pub then: Option<String>,
}

/// A summary of the checks of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckSummary {
    Green,
    Red,
    Pending,
    /// They cannot run, because the change conflicts with its base.
    Blocked,
    /// There are none.
    None,
}

/// A summary of the reviews of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewSummary {
    /// A person has to review it.
    Waiting,
    /// A person has to review it, and it was reviewed before.
    WaitingAgain,
    ChangesRequested,
    Approved,
    Commented,
    None,
}

/// A pull request as a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullWork {
    pub id: PullId,
    pub checks: CheckSummary,
    pub review: ReviewSummary,
    /// Its position in the merge queue, from 1.
    pub queued: Option<u32>,
    pub step: NextStep,
    /// The number of others that can continue once it is merged.
    pub unblocks: u32,
}

/// A session as a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWork {
    /// The pull request that needs attention most.
    pub pull: Option<PullWork>,
    pub step: NextStep,
    /// The number of others that can continue once it is done.
    pub unblocks: u32,
}

/// Derives the status of work from a state. Built once for many queries.
#[derive(Debug)]
pub struct WorkView<'a> {
    pub(crate) state: &'a State,
    pub(crate) now: Timestamp,
    pub(crate) waiters: Waiters<'a>,
}

impl<'a> WorkView<'a> {
    pub fn of(state: &'a State, now: Timestamp) -> WorkView<'a> {
        WorkView { state, now, waiters: Waiters::of(state) }
    }

    pub fn state(&self) -> &'a State {
        self.state
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn pull(&self, pull: &Pull) -> PullWork {
        let step = pull::step(self.state, pull, self.now);
        PullWork {
            id: pull.id.clone(),
            checks: checks(pull),
            review: review(pull, &step),
            queued: self.state.projects.get(&pull.id.project).and_then(|project| {
                let queue = project.queue_with(&pull.id)?;
                let place = queue.entries.iter().position(|entry| entry.pull == pull.id)?;
                u32::try_from(place + 1).ok()
            }),
            step,
            unblocks: self.waiters.behind_pull(self.state, pull),
        }
    }

    pub fn session(&self, session: &Session) -> SessionWork {
        let known = session.pulls.iter().filter_map(|id| self.state.pulls.get(id));
        // Open ones first, then the most pressing turn, then the newest.
        let pull = known.map(|pull| self.pull(pull)).min_by_key(|work| {
            let number = work.id.number;
            (work.step.turn, std::cmp::Reverse(number))
        });
        let step = session::step(self.state, session, pull.as_ref(), self.now);
        let of_task = session.spec.task.as_ref().map_or(0, |task| self.waiters.behind(task));
        let unblocks = pull.as_ref().map_or(0, |pull| pull.unblocks).max(many(of_task));
        SessionWork { pull, step, unblocks }
    }

    /// Returns the open pull requests that no session in memory owns.
    pub fn without_session(&self) -> impl Iterator<Item = &'a Pull> {
        let state = self.state;
        open_pulls(state).filter(move |pull| {
            let owner = pull.owner.and_then(|owner| state.sessions.get(&owner));
            !owner.is_some_and(|owner| owner.pulls.contains(&pull.id))
        })
    }
}

/// Returns the step of a pull request that waits for a person, if no other notice covers it. Notices are read
/// anywhere, so its commands name the project.
pub(crate) fn waits_for_person(state: &State, pull: &Pull, now: Timestamp) -> Option<NextStep> {
    let step = pull::step_anywhere(state, pull, now);
    let told = matches!(step.stage, WorkStage::Review | WorkStage::Decision | WorkStage::Merge);
    (told && step.turn == WorkTurn::You).then_some(step)
}

/// Returns whether a pull request is open in a project, so that its work is not done yet.
pub(crate) fn has_open_pull(state: &State, project: &ProjectId) -> bool {
    let first = PullId { project: project.clone(), number: 0 };
    let mut pulls = state.pulls.range(first..).take_while(|(id, _)| id.project == *project);
    pulls.any(|(_, pull)| pull.is_open())
}

pub(crate) fn open_pulls(state: &State) -> impl Iterator<Item = &Pull> {
    state.pulls.values().map(|pull| &**pull).filter(|pull| pull.is_open())
}

/// Returns the key of the incident that notifies a person of a waiting head.
pub(crate) fn waiting_key(pull: &Pull) -> IncidentKey {
    IncidentKey {
        subject: Subject::Pull(pull.id.clone()),
        kind: IncidentKind::ReviewNeeded,
        problem: ProblemId::Head(pull.facts.head.clone()),
    }
}

fn checks(pull: &Pull) -> CheckSummary {
    match pull.green() {
        // A forge that runs checks itself lists each of them from the beginning, so an empty list means that none are
        // configured.
        _ if pull.facts.checks.is_empty() => CheckSummary::None,
        ChecksVerdict::Unchecked => CheckSummary::None,
        ChecksVerdict::Yes => CheckSummary::Green,
        ChecksVerdict::Red { .. } => CheckSummary::Red,
        ChecksVerdict::Waiting { .. } if pull.checks_are_blocked() => CheckSummary::Blocked,
        ChecksVerdict::Waiting { .. } => CheckSummary::Pending,
    }
}

fn review(pull: &Pull, step: &NextStep) -> ReviewSummary {
    let (is_asked, is_approved) = (!pull.changes_requested().is_empty(), !pull.approvals().is_empty());
    let is_seen = || !pull.stale_approvals().is_empty() || pull.facts.threads.iter().any(pull::by_person);
    match step.stage {
        WorkStage::Review if is_asked || is_approved || is_seen() => ReviewSummary::WaitingAgain,
        WorkStage::Review => ReviewSummary::Waiting,
        _ if is_asked => ReviewSummary::ChangesRequested,
        _ if is_approved => ReviewSummary::Approved,
        _ if pull.facts.reviews.iter().any(|review| review.commit == pull.facts.head) => {
            ReviewSummary::Commented
        }
        _ => ReviewSummary::None,
    }
}

/// Formats a pull request as a command-line argument: its number if there is one project, otherwise its whole id.
pub(crate) fn pull_word(state: &State, id: &PullId) -> String {
    match state.projects.len() {
        0 | 1 => id.number.to_string(),
        _ => crate::advise::shell(&id.to_string()),
    }
}

pub(crate) fn many(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
