//! Refusals of inputs. The caller gets the text, so each names the thing and, where it helps, the next step.

use crate::session::Session;
use crate::{Attempt, ProjectId, PullId, SessionId, TaskId, Timestamp};

/// An input that changes nothing, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no session {0}")]
    UnknownSession(SessionId),
    #[error("there is no project `{0}`")]
    UnknownProject(ProjectId),
    #[error("there is no pull request {0}")]
    UnknownPull(PullId),
    #[error("{task} already has the session `{name}`")]
    TaskTaken { task: TaskId, session: SessionId, name: String },
    #[error("the project `{project}` already has the orchestrator `{name}`")]
    HasOrchestrator { project: ProjectId, session: SessionId, name: String },
    #[error("{task} is closed")]
    TaskClosed { task: TaskId },
    #[error("{task} was written by {author}, who may not set agents to work")]
    UntrustedTask { task: TaskId, author: String },
    #[error("{pull} has been merged")]
    AlreadyMerged { pull: PullId },
    #[error("the branch `{branch}` belongs to the session `{name}`")]
    BranchTaken { branch: String, session: SessionId, name: String },
    /// `restorable` is true if a restore would be accepted.
    #[error("the session `{name}` has ended: {outcome}")]
    Ended { session: SessionId, name: String, outcome: String, restorable: bool },
    #[error("the session `{name}` is {status} and cannot be {wish}: {why}")]
    NotNow { name: String, status: String, wish: &'static str, why: &'static str },
    #[error(
        "question {meant} of the session `{name}` is no longer open; it asks now, as question {open}: {question}"
    )]
    OtherQuestion { name: String, meant: u32, open: u32, question: String },
    #[error(
        "no answer to question {question} of the session `{name}` holds for later questions too; its options are: {options}"
    )]
    NoLastingOption { name: String, question: u32, options: String },
    #[error("the session `{name}` has no ask `{meant}`{}", open_words(open))]
    UnknownAsk { name: String, meant: String, open: Vec<String> },
    /// `at` is absent while the answer is being given.
    #[error("{by} has already answered question {question} of the session `{name}`{}: {answer}", answered_at(*at))]
    AskAnswered { name: String, question: u32, by: String, answer: String, at: Option<Timestamp> },
    #[error("question {question} of the session `{name}` takes one of these answers: {options}")]
    NoSuchOption { name: String, question: u32, options: String },
    #[error("{why}; it goes on with a higher limit: `{retype}`")]
    Budget { session: SessionId, why: String, retype: String },
    #[error("`{name}` cannot go on: {}", limit_words(account, *until, *by_itself))]
    Limited { name: String, account: String, until: Option<Timestamp>, by_itself: bool },
    #[error("a signal of attempt {attempt} of {session}, which is at attempt {current}")]
    Stale { session: SessionId, attempt: Attempt, current: Attempt },
    #[error("a signal of attempt {attempt} of {session}, which has no process")]
    NotRunning { session: SessionId, attempt: Attempt },
    #[error(
        "the project `{project}` has sessions ({sessions}) that run or have a workspace; stop and clean them up first"
    )]
    ProjectInUse { project: ProjectId, sessions: usize },
    #[error("{what}")]
    Invalid { what: String },
}

/// Lists the open asks.
fn open_words(open: &[String]) -> String {
    match open {
        [] => "; it asks nothing".into(),
        open => format!("; open are {}", open.join(", ")),
    }
}

/// Describes when an answer was given.
fn answered_at(at: Option<Timestamp>) -> String {
    match at {
        Some(at) => format!(" at {}", at.utc()),
        None => ", and the agent is being given the answer".into(),
    }
}

/// Describes the end of a provider's limit, and the next step.
fn limit_words(account: &str, until: Option<Timestamp>, by_itself: bool) -> String {
    let until = until.map(|until| format!(" until {}", until.utc())).unwrap_or_default();
    let then = match by_itself {
        true => "then it resumes automatically",
        false => "then run `ao resume`, because autoResume is off",
    };
    format!("the provider refuses the account `{account}`{until}; {then}")
}

impl Refusal {
    /// Returns true if it is a signal that could not be attributed to anything that runs.
    pub fn is_about_a_signal(&self) -> bool {
        matches!(self, Refusal::Stale { .. } | Refusal::NotRunning { .. } | Refusal::UnknownSession(_))
    }

    pub(crate) fn not_now(
        session: &Session,
        now: Timestamp,
        wish: &'static str,
        why: &'static str,
    ) -> Refusal {
        let (name, status) = (session.spec.name.clone(), session.status(now).word.to_string());
        Refusal::NotNow { name, status, wish, why }
    }
}
