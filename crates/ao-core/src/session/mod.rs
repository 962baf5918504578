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
//! The phase is a fact; the [`Status`] for people is derived from it and from the evidence.

mod classic;
mod decide;
mod denied;
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
mod rest;
mod say;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{Limits, Spend};
use crate::evidence::{Activity, Evidence, Judgement, Source};
use crate::setup::Origin;
use crate::workspace::{Workspace, WorkspaceState};
use crate::{Attempt, Commit, ConversationId, ProjectId, PullId, SessionId, TaskId, Timestamp};

pub use classic::ClassicState;
pub(crate) use decide::decide;
pub use denied::Denied;
pub(crate) use effects::wants;
pub use events::{SessionEvent, SessionInput};
pub(crate) use evolve::evolve;
pub(crate) use handle::slug;
pub use handle::{SessionHandle, SessionMatch, session_meant};
pub(crate) use launch::{admit, may_go_on, may_restore};
pub(crate) use lease::{Leases, port_holders, room};
pub(crate) use outbox::backoff;
pub use outbox::{
    Delivery, Failed, Message, MessageKind, NewMessage, Outbox, Sender, Stage, Wait, is_turn_of,
};
pub use process_ref::ProcessRef;
pub(crate) use say::task_message;
pub use status::{Status, StatusWord};

/// The specification of a session, from its creation. It never changes afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpec {
    /// Unique among the sessions in memory; the name that people type.
    pub name: String,
    pub project: ProjectId,
    pub task: Option<TaskId>,
    pub role: Role,
    pub title: String,
    /// The task as the agent reads it.
    pub prompt: String,
    pub agent: AgentChoice,
    /// The runtime's name, such as `process` or `tmux`.
    pub runtime: String,
    /// The workspace's kind, such as `worktree` or `clone`.
    pub workspace: String,
    pub branch: String,
    /// The starting point of its workspace.
    #[serde(default)]
    pub origin: Origin,
    /// A higher number runs first.
    pub priority: i32,
    #[serde(default)]
    pub limits: Limits,
    /// A person vouched for the task, regardless of its author.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
}

/// The purpose of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Works on a task.
    Worker,
    /// Helps a person steer the others. Idle is its natural state.
    Orchestrator,
    /// Reviews a change of another author.
    Reviewer,
}

/// The agent, with its declared abilities. Nothing is guessed from the name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentChoice {
    pub name: String,
    /// The specialist, if it is one; `name` is then that of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// The account whose quota it uses; sessions of one account pause and resume together.
    pub account: Option<String>,
    pub model: Option<String>,
    /// Its permissions, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Further arguments for its program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default)]
    pub abilities: AgentAbilities,
}

/// The declared abilities of an agent.
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
}

/// The phase of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Phase {
    /// Waits for a slot.
    Queued {
        since: Timestamp,
    },
    /// Its workspace is being created. A stop waits for that, so that nothing unknown is left behind.
    Preparing {
        attempt: Attempt,
        then_stop: Option<Outcome>,
    },
    /// Its workspace could not be created; a person has to look.
    SetupFailed {
        why: String,
    },
    /// Its process is being started. The same attempt is retried after a failure, because the failed try may have
    /// left a process; a launch is idempotent per attempt.
    Starting {
        attempt: Attempt,
        tries: u32,
        again_at: Option<Timestamp>,
        then_stop: Option<Outcome>,
    },
    Running {
        attempt: Attempt,
        since: Timestamp,
    },
    /// Its process tree is being ended, for certain, before anything else is done.
    Stopping {
        attempt: Attempt,
        then: AfterStop,
        tries: u32,
        again_at: Option<Timestamp>,
    },
    /// Its process ended unexpectedly and is started again at `at`.
    Retrying {
        at: Timestamp,
        why: String,
    },
    /// Its process has ended; a message or a person can wake it.
    Exited {
        at: Timestamp,
        code: Option<i32>,
        why: String,
    },
    /// Its process was ended while it waited for others, because another session needed its slot; a message or a
    /// person wakes it.
    Resting {
        at: Timestamp,
        why: String,
    },
    Ended {
        outcome: Outcome,
        at: Timestamp,
    },
}

/// The next phase of a session once its process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "then")]
pub enum AfterStop {
    End {
        outcome: Outcome,
    },
    /// Starts again, as the `restarts`th time in a row.
    Retry {
        restarts: u32,
        at: Timestamp,
        why: String,
    },
    Rest {
        code: Option<i32>,
        why: String,
    },
    /// Its slot is for another session.
    GiveWay {
        why: String,
    },
}

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Outcome {
    /// Its change is part of the base branch.
    Merged { pull: PullId },
    /// It was stopped on request.
    Stopped { by: String, why: String },
}

/// The reason why a session gets no further turn, although nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// A person paused it.
    Person,
    /// It could resume after a provider's limit, but only on a person's request.
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
pub struct Hold {
    pub why: String,
    pub since: Timestamp,
}

/// A dialog as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDialog {
    /// The time at which it was opened.
    pub since: Timestamp,
    pub question: String,
    /// The time at which it was last seen.
    pub seen: Timestamp,
    /// The question as each source reports it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<Source, String>,
}

/// The question of an open dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQuestion<'a> {
    /// Counts the questions of the session from 1. An answer names it.
    pub number: u32,
    pub text: &'a str,
}

/// A person's answer to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub number: u32,
    pub by: String,
    /// The question. An answer to one question must not reach the next.
    pub question: String,
    /// The number of the question; 0 in records from before questions had numbers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub to: u32,
    pub text: String,
}

/// The branch and commit that a workspace is on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stand {
    /// The branch that is checked out; absent if the head is detached, or was not looked at yet.
    pub branch: Option<String>,
    pub head: Option<Commit>,
}

/// A session, as recorded in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub spec: SessionSpec,
    pub created: Timestamp,
    pub phase: Phase,
    /// The latest attempt; 0 before the first.
    pub attempt: Attempt,
    pub process: Option<ProcessRef>,
    /// The time at which its last process began to be ended.
    pub stopped: Timestamp,
    /// Chosen before the first launch, so that a crash cannot leave it unknown.
    pub conversation: Option<ConversationId>,
    /// The agent has run with that conversation, so that there is something to resume.
    pub conversation_begun: bool,
    /// Unplanned ends since the last stable run.
    pub restarts: u32,
    /// The present conversation has the task.
    pub task_taken: bool,
    /// Launches in a row in which the agent took none of its messages.
    #[serde(default)]
    pub in_vain: u32,
    pub workspace: Workspace,
    /// The hooks that may object to its start have been asked and did not. Asked once, until it ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cleared: bool,
    /// The files that its task names, as far as they look like paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// It has waited long enough for sessions that change these.
    #[serde(default, skip_serializing_if = "is_false")]
    pub waited: bool,
    /// The number of processes started for it.
    #[serde(default)]
    pub launches: u32,
    /// The ports leased to it while it has a slot, by the variables that carry them.
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
    /// The ports that it had before, which its programs may still use. It gets them again if they are free.
    #[serde(default)]
    pub ports_before: BTreeMap<String, u16>,
    /// Ports that another program was found to listen on.
    #[serde(default)]
    pub ports_refused: BTreeSet<u16>,
    pub evidence: Evidence,
    /// The judgement of the evidence at the last signal.
    pub judgement: Judgement,
    /// The time of the judgement. Time alone may have changed it since; [`Session::due`] returns when.
    pub judged: Timestamp,
    /// The time since which the judged activity has not changed.
    pub activity_since: Timestamp,
    /// Set while a look at the agent is wanted, because it has been quiet for too long.
    pub look: bool,
    /// The time of the last look.
    pub looked: Timestamp,
    pub outbox: Outbox,
    /// The answer that is being given to the open dialog.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// The time since which a dialog is open. It stays the same dialog until the agent is seen to do something else,
    /// even if the evidence is missing in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Timestamp>,
    /// The latest dialog. Reports overtake each other, so for a moment it may seem to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_dialog: Option<LastDialog>,
    /// The number of questions it has asked, which is the number of the last one.
    #[serde(default)]
    pub questions: u32,
    /// The time of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
    /// The number of the last answer.
    #[serde(default)]
    pub answers: u32,
    /// The time at which the agent's folder and branch were last checked.
    #[serde(default)]
    pub placed: Timestamp,
    /// The drift of the workspace (other branch, moved, replaced), if there is one.
    #[serde(default)]
    pub astray: Option<String>,
    /// The branch and commit that its workspace was last seen on.
    #[serde(default)]
    pub stand: Stand,
    pub holds: BTreeMap<HoldKind, Hold>,
    pub spend: Spend,
    /// The tool calls that the agent was denied.
    #[serde(default, skip_serializing_if = "Denied::is_none")]
    pub denied: Denied,
    /// The part of it that was added to the project's total at an earlier end.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub summed: Spend,
    /// The usage of the attempts before the present one: the agent counts from zero each time.
    pub spent_before: Spend,
    /// Turns that the agent has taken from us, and seconds that its processes ran, by our own count.
    pub turns: u64,
    pub ran: u64,
    /// The limits in force: those of the specification, or of a later resume.
    pub limits: Limits,
    /// The soft mark of the budget has been announced.
    pub budget_marked: bool,
    pub pulls: BTreeSet<PullId>,
    /// The time at which it resumes after a provider's limit.
    #[serde(default)]
    pub resume_at: Option<Timestamp>,
    /// Its last turn was interrupted: by a provider's limit, or because its process died.
    #[serde(default)]
    pub cut_short: bool,
    /// The messages of the unfinished turn. An agent that loses them with its process gets them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Message>,
    /// The last line of output of the present attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// The time at which the agent last took a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Timestamp>,
    /// The start of an idle time that has lasted too long, if there is one.
    #[serde(default)]
    pub lingers: Option<Timestamp>,
}

impl HoldKind {
    /// Returns whether it means that a budget is spent.
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
    /// Returns its display name: that of the specialist, or else of the tool.
    pub fn called(&self) -> &str {
        self.specialist.as_deref().unwrap_or(&self.name)
    }
}

fn is_nothing(spend: &Spend) -> bool {
    *spend == Spend::default()
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Session {
    /// Returns the branch of its work: the one its workspace was last seen on, or else the one it was created for.
    pub fn branch(&self) -> &str {
        self.stand.branch.as_deref().unwrap_or(&self.spec.branch)
    }

    /// Returns the pull request that it was started to review.
    pub fn reads(&self) -> Option<&PullId> {
        match &self.spec.origin {
            Origin::Read { pull, .. } if self.spec.role == Role::Reviewer => Some(pull),
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
            conversation: None,
            conversation_begun: false,
            restarts: 0,
            task_taken: false,
            in_vain: 0,
            workspace: Workspace::default(),
            cleared: false,
            launches: 0,
            ports: BTreeMap::new(),
            ports_before: BTreeMap::new(),
            ports_refused: BTreeSet::new(),
            judgement: crate::evidence::judge(&evidence, at),
            judged: at,
            activity_since: at,
            evidence,
            look: false,
            looked: at,
            outbox: Outbox::default(),
            answer: None,
            dialog: None,
            last_dialog: None,
            questions: 0,
            answered: None,
            answers: 0,
            placed: at,
            astray: None,
            stand: Stand::default(),
            holds: BTreeMap::new(),
            spend: Spend::default(),
            denied: Denied::default(),
            summed: Spend::default(),
            spent_before: Spend::default(),
            turns: 0,
            ran: 0,
            limits: spec.limits,
            budget_marked: false,
            pulls: BTreeSet::new(),
            resume_at: None,
            cut_short: false,
            unfinished: Vec::new(),
            last_words: None,
            took: None,
            lingers: None,
            spec,
        }
    }

    /// Returns its open question, if it has one.
    pub fn open_question(&self) -> Option<OpenQuestion<'_>> {
        let asks =
            matches!(self.phase, Phase::Running { .. }) && self.judgement.activity == Activity::NeedsInput;
        asks.then(|| OpenQuestion { number: self.questions, text: &self.judgement.detail })
    }

    /// Returns whether it still claims its task: every session that has not ended.
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Ended { .. })
    }

    /// Returns whether it may have a process, and so counts against the caps.
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

    /// Returns whether its agent ends its process with each turn, and has ended the last one well. It has nothing to
    /// do until it gets a message.
    pub fn rests_after_turn(&self) -> bool {
        self.spec.agent.abilities.one_turn && matches!(self.phase, Phase::Exited { code: Some(0), .. })
    }

    /// Returns whether it has ended with its change merged.
    pub fn is_merged(&self) -> bool {
        matches!(self.phase, Phase::Ended { outcome: Outcome::Merged { .. }, .. })
    }

    /// Returns whether the last turn of its process was not finished.
    pub(crate) fn left_a_turn(&self) -> bool {
        self.cut_short || !self.unfinished.is_empty()
    }

    /// Returns whether its workspace exists and is being set up.
    pub fn is_setting_up(&self) -> bool {
        matches!(self.phase, Phase::Preparing { .. })
            && self.workspace.state == WorkspaceState::Ready
            && !self.workspace.set_up
    }

    /// Returns whether the agent may be in the middle of a turn: it works, or it has taken a message without a signal
    /// since.
    pub(crate) fn is_at_it(&self) -> bool {
        self.is_live()
            && (self.judgement.activity == Activity::Working
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
