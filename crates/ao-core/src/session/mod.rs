//! A session: one task given to one agent, over as many attempts as it takes.
//!
//! ```text
//!  Queued ─► Preparing ─► Starting ─► Running ─► Stopping ─┬─► Ended ─► (archived)
//!    ▲           │            ▲                            ├─► Retrying ─► Starting   (bounded)
//!    │           ▼            │                            └─► Exited, Resting
//!    ├── retry ─ SetupFailed  └─ the same attempt again        │
//!    └───────────────── a message or a person wakes it ◄───────┘
//! ```
//!
//! The phase is a fact; the [`StatusReport`] for people is derived from it and from the evidence.

mod answer;
mod classic;
mod decide;
mod denied;
mod dialog;
mod due;
mod effects;
mod events;
mod evolve;
mod handle;
mod holds;
mod launch;
mod lease;
mod outbox;
mod process_ref;
mod report;
mod rest;
mod say;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{SpendLimits, UsageTotal};
use crate::evidence::{AgentActivity, Evidence, Judgement};
use crate::setup::Origin;
use crate::workspace::{SessionWorkspace, WorkspaceState};
use crate::{Attempt, Commit, ConversationId, ProjectId, PullId, SessionId, TaskId, Timestamp};

pub use answer::{AskEnd, ClosedAsk, DialogAnswer};
pub use classic::ClassicState;
pub(crate) use decide::decide;
pub use denied::DeniedCalls;
pub use dialog::{DialogState, DialogSubject, LastDialog};
pub(crate) use effects::wants;
pub use events::{SessionEvent, SessionInput};
pub(crate) use evolve::evolve;
pub(crate) use handle::slug;
pub use handle::{SessionHandle, SessionMatch, session_meant};
pub(crate) use launch::{admit, may_go_on, may_restore};
pub use lease::PortLease;
pub(crate) use lease::{PortLeases, port_holders, room};
pub(crate) use outbox::backoff;
pub use outbox::{
    Delivery, DeliveryStage, FailedMessage, Message, MessageKind, MessageWait, NewMessage, Outbox, Sender,
    is_turn_of,
};
pub use process_ref::ProcessRef;
pub(crate) use say::task_message;
pub use status::{StatusReport, StatusWord};

/// The order that a session was made by. It never changes, except that the core gives it a name and a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpec<Name = String> {
    /// Unique among the sessions in memory; the name that people type.
    pub name: Name,
    pub project: ProjectId,
    pub task: Option<TaskId>,
    pub role: SessionRole,
    pub title: String,
    /// The task as the agent reads it.
    pub prompt: String,
    pub agent: AgentChoice,
    /// The runtime's name, such as `process` or `tmux`.
    pub runtime: String,
    /// The workspace's kind, such as `worktree` or `clone`.
    pub workspace: String,
    pub branch: Name,
    /// The commit that its workspace begins with.
    pub origin: Origin,
    /// A higher number runs first.
    pub priority: i32,
    pub limits: SpendLimits,
    /// A person answers for the task, whoever wrote it. No agent can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
}

/// The purpose of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRole {
    /// Works on a task.
    Worker,
    /// Helps a person steer the others. Idle is its natural state.
    Orchestrator,
    /// Reviews the change of another session or person.
    Reviewer,
}

/// The agent of a session and its declared abilities. Nothing is guessed from the name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentChoice {
    pub name: String,
    /// The specialist, if it is one; `name` is then that of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// The account whose quota it uses; sessions of one account stop and go together.
    pub account: Option<String>,
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Its permission mode, as the configuration names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Further arguments for its program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    pub abilities: AgentAbilities,
}

/// The abilities that an agent declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentAbilities {
    /// Can continue an earlier conversation in a new process.
    pub resume: bool,
    /// Takes its first message with the launch rather than typed.
    pub prompt_at_launch: bool,
    /// Ends its process with each turn; a message starts the next one.
    pub one_turn: bool,
    /// Takes messages while it works and queues them itself.
    pub steer: bool,
    /// Can cancel a running turn and stay at its prompt.
    pub cancel: bool,
}

/// The phase of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Phase {
    /// Waits for a slot.
    Queued { since: Timestamp },
    /// Its workspace is being created. A stop waits for that, so that nothing unknown is left behind.
    Preparing { attempt: Attempt, then_stop: Option<SessionOutcome> },
    /// Its workspace could not be created; a person has to look.
    SetupFailed { why: String },
    /// Its process is being started. The same attempt is retried after a failure, because the failed try may have
    /// left a process; a launch is idempotent per attempt.
    Starting { attempt: Attempt, tries: u32, again_at: Option<Timestamp>, then_stop: Option<SessionOutcome> },
    /// Its process runs.
    Running { attempt: Attempt, since: Timestamp },
    /// Its process tree is being ended, for certain, before anything else is done.
    Stopping { attempt: Attempt, then: AfterStop, tries: u32, again_at: Option<Timestamp> },
    /// Its process ended unexpectedly and is started again at `at`.
    Retrying { at: Timestamp, why: String },
    /// Its process has ended; a message or a person can wake it.
    Exited { at: Timestamp, code: Option<i32>, why: String },
    /// Its process was ended while it waited for others, because another session needed its slot; a message or a
    /// person wakes it.
    Resting { at: Timestamp, why: String },
    /// It has ended.
    Ended { outcome: SessionOutcome, at: Timestamp },
}

/// The next phase of a session once its process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "then")]
pub enum AfterStop {
    /// The session ends.
    End { outcome: SessionOutcome },
    /// Starts again, as the `restarts`th time in a row.
    Retry { restarts: u32, at: Timestamp, why: String },
    /// It waits for a message or a person.
    Rest { code: Option<i32>, why: String },
    /// Its slot is for another session.
    GiveWay { why: String },
}

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum SessionOutcome {
    /// Its change is part of the base branch.
    Merged { pull: PullId },
    /// It was stopped.
    Stopped { by: String, why: String },
}

/// The reason why a session gets no further turn, though nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// A person paused it.
    Person,
    /// It could resume after a provider's limit, but only with a person's consent.
    Consent,
    /// Its budget is spent; a new limit is needed.
    Budget,
    /// The budget of its task is spent.
    TaskBudget,
    /// Today's budget of its project is spent.
    ProjectBudget,
    /// The total budget of its project is spent.
    TotalBudget,
    /// Today's budget of everything is spent.
    DailyBudget,
    /// The provider refuses this account.
    Account,
    /// A hook objects to its start; a person has to ask it again.
    Hook,
}

/// A hold, with its reason and start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHold {
    pub why: String,
    pub since: Timestamp,
}

/// The branch and head that are checked out in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckedOut {
    /// Absent if the head is on no branch, or nothing was seen yet.
    pub branch: Option<String>,
    pub head: Option<Commit>,
}

/// State of a session's launches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaunchState {
    /// Chosen before the first launch, so that a crash cannot leave it unknown.
    pub conversation: Option<ConversationId>,
    /// The agent has run with that conversation, so there is something to resume.
    pub begun: bool,
    /// The present conversation has the task.
    pub task_taken: bool,
    /// Unplanned ends since the last stable run.
    pub restarts: u32,
    /// Launches in a row in which the agent took no message.
    pub fruitless: u32,
    /// Processes that were started.
    pub count: u32,
}

/// Observations of a running agent and its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WatchState {
    /// The agent is to be looked at, because it has been quiet for too long.
    pub wanted: bool,
    /// Time of the last look.
    pub looked: Timestamp,
    /// Time at which its workspace was last compared with the one that was created.
    pub placed: Timestamp,
    /// The drift of the workspace, if there is any.
    pub drift: Option<String>,
    /// Branch and head that its workspace was last seen on.
    pub checked_out: CheckedOut,
}

/// Usage of a session's own budget.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionUsage {
    pub spend: UsageTotal,
    /// The part of it that was added to its project's sum at an earlier end.
    pub summed: UsageTotal,
    /// The part that earlier attempts used up: the agent counts from nought each time.
    pub before: UsageTotal,
    /// Turns that the agent took, by our own count.
    pub turns: u64,
    /// Seconds that its processes ran, by our own count.
    pub ran: u64,
    /// The limits in force: those of the specification, or of a later resume.
    pub limits: SpendLimits,
    /// The soft mark of the budget has been announced.
    pub marked: bool,
}

/// A turn that was cut short, and when it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResumeState {
    /// Time at which it resumes after a provider's limit that is over.
    pub at: Option<Timestamp>,
    /// The last turn was cut short: by a provider's limit, or because its process died in it.
    pub cut_short: bool,
    /// The messages of the turn that has not come to its end. An agent that forgets them with its process gets them again.
    pub unfinished: Vec<Message>,
}

/// The cancellations of a session's turns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CancelState {
    /// Count of the cancellations; the number of the last one.
    pub count: u32,
    /// The one that is under way.
    pub current: Option<TurnCancel>,
    /// Time at which the last one found no turn to cancel, although the agent seemed to work.
    pub missed: Option<Timestamp>,
}

/// A cancellation of the running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCancel {
    pub number: u32,
    pub why: String,
}

/// A session, folded from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub spec: SessionSpec,
    pub created: Timestamp,
    pub phase: Phase,
    /// The latest attempt; 0 before the first.
    pub attempt: Attempt,
    pub process: Option<ProcessRef>,
    /// Time at which its last process began to be ended.
    pub stopped: Timestamp,
    pub launch: LaunchState,
    pub workspace: SessionWorkspace,
    /// The hooks that may object to its start were asked and did not. Asked once, until it ends.
    pub cleared: bool,
    /// The files that its task names, as far as they look like paths.
    pub mentions: Vec<String>,
    /// It has waited long enough for the sessions that change these.
    pub waited: bool,
    pub ports: PortLease,
    pub evidence: Evidence,
    /// The judgement of the evidence at the last signal.
    pub judgement: Judgement,
    /// Time of the judgement. Time alone may have changed it since; [`Session::due`] returns when.
    pub judged: Timestamp,
    /// Time of the last change of the judged activity.
    pub activity_since: Timestamp,
    pub watch: WatchState,
    pub outbox: Outbox,
    pub dialogs: DialogState,
    pub cancels: CancelState,
    pub holds: BTreeMap<HoldKind, SessionHold>,
    pub usage: SessionUsage,
    /// The tool calls that the agent was denied.
    pub denied: DeniedCalls,
    pub pulls: BTreeSet<PullId>,
    pub resume: ResumeState,
    /// The last reply of the present attempt's agent, or the reason why its turn failed.
    pub last_reply: Option<String>,
    /// Time at which the agent last took a message.
    pub took: Option<Timestamp>,
    /// The start of an idle time that has lasted too long, if there is one.
    pub lingers: Option<Timestamp>,
}

impl<Name> SessionSpec<Name> {
    /// Returns the spec with another name and branch.
    pub fn named<New>(self, name: New, branch: New) -> SessionSpec<New> {
        SessionSpec {
            name,
            branch,
            project: self.project,
            task: self.task,
            role: self.role,
            title: self.title,
            prompt: self.prompt,
            agent: self.agent,
            runtime: self.runtime,
            workspace: self.workspace,
            origin: self.origin,
            priority: self.priority,
            limits: self.limits,
            trusted: self.trusted,
        }
    }
}

impl HoldKind {
    /// Returns true if it means that a budget is spent.
    pub fn is_budget(self) -> bool {
        matches!(
            self,
            HoldKind::Budget
                | HoldKind::TaskBudget
                | HoldKind::ProjectBudget
                | HoldKind::TotalBudget
                | HoldKind::DailyBudget
        )
    }
}

impl AgentChoice {
    /// Returns the name that people use: the specialist's, or else the tool's.
    pub fn called(&self) -> &str {
        self.specialist.as_deref().unwrap_or(&self.name)
    }
}

impl Session {
    /// Returns the branch of its work: the one its workspace was last seen on, or else the one it was made for.
    pub fn branch(&self) -> &str {
        self.watch.checked_out.branch.as_deref().unwrap_or(&self.spec.branch)
    }

    /// Returns the pull request that it reviews.
    pub fn reads(&self) -> Option<&PullId> {
        match &self.spec.origin {
            Origin::Read { pull, .. } if self.spec.role == SessionRole::Reviewer => Some(pull),
            _ => None,
        }
    }

    pub(crate) fn queued(id: SessionId, spec: SessionSpec, at: Timestamp) -> Session {
        let evidence = Evidence::of(Attempt(0), at);
        Session {
            id,
            mentions: crate::forecast::named(&format!("{}\n{}", spec.title, spec.prompt)),
            waited: false,
            created: at,
            phase: Phase::Queued { since: at },
            attempt: Attempt(0),
            process: None,
            stopped: at,
            launch: LaunchState::default(),
            workspace: SessionWorkspace::default(),
            cleared: false,
            ports: PortLease::default(),
            judgement: crate::evidence::judge(&evidence, at),
            judged: at,
            activity_since: at,
            evidence,
            watch: WatchState { looked: at, placed: at, ..WatchState::default() },
            outbox: Outbox::default(),
            dialogs: DialogState::default(),
            cancels: CancelState::default(),
            holds: BTreeMap::new(),
            usage: SessionUsage { limits: spec.limits, ..SessionUsage::default() },
            denied: DeniedCalls::default(),
            pulls: BTreeSet::new(),
            resume: ResumeState::default(),
            last_reply: None,
            took: None,
            lingers: None,
            spec,
        }
    }

    /// Returns true if it still claims its task: everything that has not ended.
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Ended { .. })
    }

    /// Returns true if it may have a process, and so counts against the caps.
    pub fn takes_slot(&self) -> bool {
        matches!(
            self.phase,
            Phase::Preparing { .. }
                | Phase::Starting { .. }
                | Phase::Running { .. }
                | Phase::Retrying { .. }
                | Phase::Stopping { .. }
        )
    }

    /// Returns true if its agent ends its process with each turn and has ended the last one well. It waits for a message then.
    pub fn rests_after_turn(&self) -> bool {
        self.spec.agent.abilities.one_turn && matches!(self.phase, Phase::Exited { code: Some(0), .. })
    }

    /// Returns whether it has ended with its change merged.
    pub fn is_merged(&self) -> bool {
        matches!(self.phase, Phase::Ended { outcome: SessionOutcome::Merged { .. }, .. })
    }

    /// Returns true if the last turn of its last process was not finished.
    pub(crate) fn left_a_turn(&self) -> bool {
        self.resume.cut_short || !self.resume.unfinished.is_empty()
    }

    /// Returns true while its workspace is being set up.
    pub fn is_setting_up(&self) -> bool {
        matches!(self.phase, Phase::Preparing { .. })
            && self.workspace.state == WorkspaceState::Ready
            && !self.workspace.set_up
    }

    /// Returns true if the agent may be in the middle of something: it works, or it has taken a message and nothing has been
    /// seen of it since.
    pub(crate) fn is_at_it(&self) -> bool {
        self.is_live()
            && (self.judgement.activity == AgentActivity::Working
                || self.took.is_some_and(|took| self.judgement.at < took))
    }

    /// Returns the attempt whose process may be alive.
    pub fn running_attempt(&self) -> Option<Attempt> {
        match self.phase {
            Phase::Starting { attempt, .. }
            | Phase::Running { attempt, .. }
            | Phase::Stopping { attempt, .. } => Some(attempt),
            _ => None,
        }
    }
}
