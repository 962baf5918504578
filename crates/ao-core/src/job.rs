//! Jobs: work that the daemon runs for a requester, such as a reaction or a hook.
//!
//! ```text
//!  wanted ─► (done · failed) ─► the requester gets the outcome
//!     ▲  └─ failed for now ─► delayed ┐
//!     └───────────────────────────────┘  a bounded number of times
//! ```
//!
//! A job is done at least once: after a crash it is begun again, so each order says what makes a second time harmless.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::hook::{Hook, HookPoint};
use crate::incident::IncidentKey;
use crate::order::ThreadReply;
use crate::{Commit, JobId, Moment, ProjectId, PullId, SessionId, TaskId, Timestamp, session};

/// Tries of a job that fails for now.
const TRIES: u32 = 3;
/// Time that a job waits for an obstacle, unless its requester sets another.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
const LIMITED_PATIENCE: Duration = Duration::from_secs(48 * 3600);
/// Interval at which an obstacle is looked at again, at first and after a while.
const LOOK_LEAST: Duration = Duration::from_secs(1);
const LOOK_MOST: Duration = Duration::from_secs(30);

/// Work that is to be done, until it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    /// A second job with the same key is ignored while this one is open.
    pub key: String,
    pub order: JobOrder,
    /// The part that gets its result.
    pub requester: Requester,
    /// Time of the order.
    pub since: Timestamp,
    /// Times that it was begun.
    pub tries: u32,
    /// Times of these that an obstacle kept it from being tried.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub waits: u32,
    pub again_at: Option<Timestamp>,
}

/// The work to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOrder {
    /// Starts an agent. The branch of a pull request has one agent at a time, so a second run finds the first one.
    Spawn {
        project: ProjectId,
        pull: Option<PullId>,
        /// By name; the project's own agent if absent.
        agent: Option<String>,
        title: String,
        prompt: String,
    },
    /// Starts a task. It has one session, so a second run finds the first one.
    Assign {
        task: TaskId,
        /// The specialist; the project's own agent if absent.
        agent: Option<String>,
        /// The reason for the choice.
        why: String,
    },
    /// Closes the issues of a merged pull request: these tasks, whose sessions made it, and those that it names.
    /// Closing a closed issue has no effect.
    Settle { pull: PullId, tasks: Vec<TaskId> },
    /// Runs a check of a pull request again, on the same commit. `number` counts the re-runs of that commit.
    Rerun { pull: PullId, check: String, commit: Commit, number: u32 },
    /// Runs a check on the base branch itself; the result is stored by tree, so a second run costs nothing.
    CheckBase { project: ProjectId, branch: String, commit: Commit, check: String },
    /// Rebases a branch onto its base if there is no conflict. Pinned to both commits, so that it is done once.
    Rebase { pull: PullId, head: Commit, base: Commit },
    /// Runs a command of the user in the project's folder, with the document on its standard input.
    Run {
        project: ProjectId,
        session: Option<SessionId>,
        command: String,
        timeout: Duration,
        document: String,
    },
    /// Replies in a thread in our own name. Its key marks the reply, so that it is given once.
    Reply(ThreadReply),
    /// Runs the hooks of a point, one after the other. The document has an id, by which they can recognize a second
    /// run. If they may object, the first objection is final; otherwise all of them run.
    Hook {
        project: ProjectId,
        session: Option<SessionId>,
        point: HookPoint,
        hooks: Vec<Hook>,
        document: String,
    },
}

/// The requester of a job, which gets its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requester {
    /// A reaction to a problem.
    Incident(IncidentReaction),
    /// A session that may start only if no hook objects.
    Assign(SessionId),
    /// A pull request that may land only if no hook objects.
    Merge { pull: PullId, head: Commit },
    /// A check of the base, which may be red itself.
    Base { project: ProjectId, check: String, commit: Commit },
    /// A hook point that was reached. Nothing waits for its hooks, but a person is notified if one fails.
    Point { project: ProjectId, point: HookPoint },
    /// A task that is to begin.
    Task(TaskId),
    /// A merged pull request, with the issues that it closes.
    Landed(PullId),
    /// A pull request that is rebased because its base has moved. Nothing waits for it.
    Update(PullId),
}

/// The incident that a job is done for, and the round of reactions to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentReaction {
    #[serde(flatten)]
    pub to: IncidentKey,
    pub round: ReactionRound,
}

/// One round of reactions to an incident. Results of earlier rounds are stale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionRound {
    /// Time at which the incident was opened. One that has gone and come again is another one.
    pub opened: Timestamp,
    /// The revision that it was seen on, unless the order is the same for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Times that the reaction had acted, this time included, if it orders anew each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<u32>,
}

/// Input for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobInput {
    /// It was done.
    Done { tries: u32, outcome: JobOutcome },
    /// It failed; another try may help if `again` is set.
    Failed { tries: u32, why: String, again: bool },
    /// It cannot be done while an obstacle is there that goes away by itself. That is no try.
    InTheWay {
        tries: u32,
        why: String,
        /// The time that a service asks to wait, which may be longer than jobs wait otherwise.
        after: Option<Duration>,
    },
    /// Its next try is due.
    Due,
}

/// Outcome of a job that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// It was done, with a remark.
    Done { said: String },
    /// A hook objected, or a command failed.
    Refused { why: String },
    /// The base passes this check.
    BaseGreen {},
    /// The base itself fails it.
    BaseRed { signature: String, excerpt: String },
}

/// Event of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEvent {
    /// It is to be done.
    Wanted { job: Box<Job> },
    /// It is tried again at that time.
    Delayed {
        why: String,
        again_at: Timestamp,
        /// It was tried, and not only held up.
        counts: bool,
    },
    /// The delay is over.
    Retried {},
    /// It was done.
    Done { requester: Requester, outcome: JobOutcome },
    /// It was given up.
    Failed { requester: Requester, why: String },
}

impl JobOrder {
    /// Returns the time that its commands may take by their own limits.
    pub fn own_time(&self) -> Duration {
        match self {
            JobOrder::Run { timeout, .. } => *timeout,
            JobOrder::Hook { hooks, .. } => hooks.iter().map(|hook| hook.timeout).sum(),
            _ => Duration::ZERO,
        }
    }
}

/// Decides what an input means for a job. `patience` is how long its requester waits before it does something else.
pub(crate) fn decide(
    job: &Job,
    moment: &Moment,
    patience: Option<Duration>,
    input: JobInput,
) -> Vec<JobEvent> {
    match input {
        JobInput::Done { tries, outcome } if tries == job.tries => {
            vec![JobEvent::Done { requester: job.requester.clone(), outcome }]
        }
        JobInput::Failed { tries, why, again } if tries == job.tries => {
            let tried = tries.saturating_sub(job.waits);
            if again && tried + 1 < TRIES {
                let again_at = moment.at + session::backoff(tried);
                vec![JobEvent::Delayed { why, again_at, counts: true }]
            } else {
                vec![JobEvent::Failed { requester: job.requester.clone(), why }]
            }
        }
        JobInput::InTheWay { tries, why, after } if tries == job.tries && job.again_at.is_none() => {
            let waited = moment.at.since(job.since);
            let again_at = moment.at + after.unwrap_or((waited / 4).clamp(LOOK_LEAST, LOOK_MOST));
            // It ends before its requester continues without it. A service that names a time is waited for.
            let at_most = if after.is_some() { LIMITED_PATIENCE } else { PATIENCE };
            if again_at < job.since + patience.unwrap_or(at_most) {
                vec![JobEvent::Delayed { why, again_at, counts: false }]
            } else {
                let why = format!("{why}, and was so for {} s", waited.as_secs());
                vec![JobEvent::Failed { requester: job.requester.clone(), why }]
            }
        }
        JobInput::Due if job.again_at.is_some_and(|at| at <= moment.at) => {
            vec![JobEvent::Retried {}]
        }
        // A stale result of a try that was already counted.
        JobInput::Done { .. } | JobInput::Failed { .. } | JobInput::InTheWay { .. } | JobInput::Due => vec![],
    }
}

/// Applies an event to a continuing job; the state removes finished ones.
pub(crate) fn evolve(job: &mut Job, event: &JobEvent) {
    match event {
        JobEvent::Delayed { again_at, counts, .. } => {
            job.again_at = Some(*again_at);
            job.waits = job.waits.saturating_add(u32::from(!counts));
        }
        JobEvent::Retried {} => {
            job.again_at = None;
            job.tries = job.tries.saturating_add(1);
        }
        JobEvent::Wanted { .. } | JobEvent::Done { .. } | JobEvent::Failed { .. } => {}
    }
}

fn is_nought(value: &u32) -> bool {
    *value == 0
}
