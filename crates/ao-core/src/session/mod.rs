//! A session: one agent at work on one thing, over as many attempts as that takes.
//!
//! ```text
//!  Queued ─► Preparing ─► Starting ─► Running ─► Stopping ─┬─► Ended ─► (archived)
//!    ▲           │            ▲                            ├─► Retrying ─► Starting   (bounded)
//!    │           ▼            │                            └─► Exited, Resting
//!    ├── retry ─ SetupFailed  └─ the same attempt again        │
//!    └───────────────── a message or a person wakes it ◄───────┘
//! ```
//!
//! The phase is fact; what a person is shown ([`Status`]) is derived from it and from the evidence.

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
pub(crate) use say::task_message;
pub use status::{Status, StatusWord};

/// The order that a session was made by. It never changes, except that the core gives it a name and a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpec<Name = String> {
    /// Unique among the sessions in memory; what people type.
    pub name: Name,
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
    pub branch: Name,
    /// What its workspace begins with.
    pub origin: Origin,
    /// Higher runs first.
    pub priority: i32,
    pub limits: Limits,
    /// A person answers for the task, whoever wrote it. No agent can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
}

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Works on a task.
    Worker,
    /// Helps a person steer the others. Idle is its natural state.
    Orchestrator,
    /// Reads somebody else's change.
    Reviewer,
}

/// Which agent, and what that agent declares it can do. Nothing is guessed from the name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentChoice {
    pub name: String,
    /// The specialist that it is, if it is one; its name is that of the tool then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// Whose quota it uses; sessions of one account stop and go together.
    pub account: Option<String>,
    pub model: Option<String>,
    /// What it may do without asking, in the configuration's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Further arguments for its program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    pub abilities: AgentAbilities,
}

/// What an agent declares it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentAbilities {
    /// Can go on with an earlier conversation in a new process.
    pub resume: bool,
    /// Takes its first message with the launch rather than typed.
    pub prompt_at_launch: bool,
    /// Ends its process with each turn; a message starts the next one.
    pub one_turn: bool,
    /// Takes messages while it works and queues them itself.
    pub steer: bool,
}

/// Where a session is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Phase {
    /// Waits for a slot.
    Queued {
        since: Timestamp,
    },
    /// Its workspace is being made. A stop waits for that, so that nothing is left behind that we do not know of.
    Preparing {
        attempt: Attempt,
        then_stop: Option<Outcome>,
    },
    /// Its workspace could not be made; a person has to look.
    SetupFailed {
        why: String,
    },
    /// Its process is being started. The same attempt is tried again after a failure, because we cannot know whether
    /// the failed try left a process; a launch is idempotent per attempt.
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
    /// Its process ended before its time and is started again at `at`.
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
    /// Its process was ended while it waited for others, because another one needed its slot; a message or a person wakes it.
    Resting {
        at: Timestamp,
        why: String,
    },
    Ended {
        outcome: Outcome,
        at: Timestamp,
    },
}

/// What becomes of a session once its process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "then")]
pub enum AfterStop {
    End {
        outcome: Outcome,
    },
    /// Start again, as the `restarts`th time in a row.
    Retry {
        restarts: u32,
        at: Timestamp,
        why: String,
    },
    Rest {
        code: Option<i32>,
        why: String,
    },
    /// Its slot is for another one.
    GiveWay {
        why: String,
    },
}

/// How a session's story ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Outcome {
    /// Its change is part of the base branch.
    Merged { pull: PullId },
    /// Somebody stopped it.
    Stopped { by: String, why: String },
}

/// Why a session gets no further turn, though nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Somebody paused it.
    Person,
    /// It could go on after a provider's limit, but only on a person's word.
    Consent,
    /// Its budget is spent; a new limit is needed.
    Budget,
    /// The budget of its task is spent.
    TaskBudget,
    /// Today's budget of its project is spent.
    ProjectBudget,
    /// All that its project may ever spend is spent.
    TotalBudget,
    /// Today's budget of everything is spent.
    DailyBudget,
    /// The provider refuses this account.
    Account,
    /// A hook objects to its start; a person has to have it asked again.
    Hook,
}

/// A hold and what ends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub why: String,
    pub since: Timestamp,
}

/// A dialog as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDialog {
    /// Since when it is open.
    pub since: Timestamp,
    pub question: String,
    /// When it was last seen.
    pub seen: Timestamp,
    /// What each source says that it asks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<Source, String>,
}

/// The question of an open dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQuestion<'a> {
    /// Counts the questions of the session from 1. Whoever answers names it.
    pub number: u32,
    pub text: &'a str,
}

/// What a person answers to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub number: u32,
    pub by: String,
    /// What was asked. An answer to one question must not reach the next.
    pub question: String,
    /// The number of the question.
    pub to: u32,
    pub text: String,
}

/// Where a running process can be found again. Opaque to us: a pid, a pane, a container, a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessRef(pub String);

/// Where a workspace stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckedOut {
    /// The branch that is checked out; absent if its head is on none, or nobody has looked yet.
    pub branch: Option<String>,
    pub head: Option<Commit>,
}

/// A session as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub spec: SessionSpec,
    pub created: Timestamp,
    pub phase: Phase,
    /// The last attempt that was begun; 0 before the first.
    pub attempt: Attempt,
    pub process: Option<ProcessRef>,
    /// When its last process began to be ended.
    pub stopped: Timestamp,
    /// Chosen before the first launch, so that a crash cannot leave us guessing which one is ours.
    pub conversation: Option<ConversationId>,
    /// Whether the agent ever ran with that conversation, so that there is something to resume.
    pub conversation_begun: bool,
    /// Unplanned ends since the last stable run.
    pub restarts: u32,
    /// Whether the present conversation has the task.
    pub task_taken: bool,
    /// Launches in a row in which the agent took nothing that was said to it.
    pub fruitless_launches: u32,
    pub workspace: Workspace,
    /// Whether the hooks that may object to its start have been asked and did not. Asked once, until it ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cleared: bool,
    /// The files that its task names, as far as words look like files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// It has waited long enough for those that change these.
    #[serde(default, skip_serializing_if = "is_false")]
    pub waited: bool,
    /// How often a process of it was started.
    pub launches: u32,
    /// The ports that are its own while it has a slot, by the variables that carry them.
    pub ports: BTreeMap<String, u16>,
    /// The ports that it had before, which what it has started may still be told of. It gets them again if they are free.
    pub ports_before: BTreeMap<String, u16>,
    /// Ports that somebody else was found to listen on.
    pub ports_refused: BTreeSet<u16>,
    pub evidence: Evidence,
    /// The evidence as judged when the last signal came in.
    pub judgement: Judgement,
    /// When it was judged. Time alone may have changed it since; [`Session::due`] says when.
    pub judged: Timestamp,
    /// Since when the judged activity has been what it is.
    pub activity_since: Timestamp,
    /// Set while somebody is to look at the agent, because it has been quiet for too long.
    pub look: bool,
    /// When it was last looked at.
    pub looked: Timestamp,
    pub outbox: Outbox,
    /// The answer that is being given to the open dialog.
    pub answer: Option<Answer>,
    /// Since when a dialog is open. It is the same one until the agent is seen to do something else, whatever is not known of
    /// it in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Timestamp>,
    /// The dialog that was seen last. Reports overtake each other, so for a moment it may seem to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_dialog: Option<LastDialog>,
    /// How many questions it has asked; the number of the last one.
    pub questions: u32,
    /// When the last answer was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
    /// The number of the last answer.
    pub answers: u32,
    /// When it was last seen whether the agent is in its place.
    pub placed: Timestamp,
    /// How the agent has left its place, if it has.
    pub drift: Option<String>,
    /// Where its workspace was last seen to stand.
    pub checked_out: CheckedOut,
    pub holds: BTreeMap<HoldKind, Hold>,
    pub spend: Spend,
    /// The calls of tools that the agent was not allowed to make.
    #[serde(default, skip_serializing_if = "Denied::is_none")]
    pub denied: Denied,
    /// How much of that has been summed up with its project's, at an earlier end of it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub summed: Spend,
    /// What the attempts before the present one used up: the agent counts from nought each time.
    pub spent_before: Spend,
    /// Turns that the agent has taken from us, and seconds that its processes ran, by our own count.
    pub turns: u64,
    pub ran: u64,
    /// The limits in force: the spec's, or those of a later resume.
    pub limits: Limits,
    /// Whether the soft mark of the budget has been announced.
    pub budget_marked: bool,
    pub pulls: BTreeSet<PullId>,
    /// When it goes on after a provider's limit that is over.
    pub resume_at: Option<Timestamp>,
    /// Its last turn was cut short: by a provider's limit, or because its process died in it.
    pub cut_short: bool,
    /// The messages of the turn that has not come to its end. An agent that forgets them with its process hears them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Message>,
    /// The last that the agent of the present attempt said, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// When the agent last took a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Timestamp>,
    /// The beginning of the idleness that has lasted for too long, if one has.
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
    /// Whether it means that a budget is spent.
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
    /// What people call it: by the specialist, or else by the tool.
    pub fn called(&self) -> &str {
        self.specialist.as_deref().unwrap_or(&self.name)
    }
}

fn is_nothing(spend: &Spend) -> bool {
    *spend == Spend::default()
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Session {
    /// The branch that its work is on: the one its workspace was last seen on, or else the one it was made for.
    pub fn branch(&self) -> &str {
        self.checked_out.branch.as_deref().unwrap_or(&self.spec.branch)
    }

    /// The pull request that it was set to review.
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
            fruitless_launches: 0,
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
            drift: None,
            checked_out: CheckedOut::default(),
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

    /// Returns the question that it has open, if it has one.
    pub fn open_question(&self) -> Option<OpenQuestion<'_>> {
        let asks =
            matches!(self.phase, Phase::Running { .. }) && self.judgement.activity == Activity::NeedsInput;
        asks.then(|| OpenQuestion { number: self.questions, text: &self.judgement.detail })
    }

    /// Whether it still claims its task: everything that has not ended.
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Ended { .. })
    }

    /// Whether it may have a process, and so counts against the caps.
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

    /// Tells whether its agent ends its process with each turn, and has ended the last one well. It has nothing to do until it
    /// is told something.
    pub fn rests_after_turn(&self) -> bool {
        self.spec.agent.abilities.one_turn && matches!(self.phase, Phase::Exited { code: Some(0), .. })
    }

    /// Returns true if it has ended with its change merged.
    pub fn is_merged(&self) -> bool {
        matches!(self.phase, Phase::Ended { outcome: Outcome::Merged { .. }, .. })
    }

    /// Tells whether the turn that its last process had taken was not finished.
    pub(crate) fn left_a_turn(&self) -> bool {
        self.cut_short || !self.unfinished.is_empty()
    }

    /// Whether its workspace is there and is being made ready.
    pub fn is_setting_up(&self) -> bool {
        matches!(self.phase, Phase::Preparing { .. })
            && self.workspace.state == WorkspaceState::Ready
            && !self.workspace.set_up
    }

    /// Whether the agent may be in the middle of something: it works, or it has taken a message and nothing has been
    /// seen of it since.
    pub(crate) fn is_at_it(&self) -> bool {
        self.is_live()
            && (self.judgement.activity == Activity::Working
                || self.took.is_some_and(|took| self.judgement.at < took))
    }

    /// The attempt whose process may be alive.
    pub fn running_attempt(&self) -> Option<Attempt> {
        match self.phase {
            Phase::Starting { attempt, .. }
            | Phase::Running { attempt, .. }
            | Phase::Stopping { attempt, .. } => Some(attempt),
            _ => None,
        }
    }
}
