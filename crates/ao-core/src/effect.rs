//! Effects: what the engine is to do. They are never stored: they follow from the state, so that a crash between
//! deciding and acting loses none, and a restart asks for the same ones again.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::notice::Notice;
use crate::order::{
    AnswerOrder, CancelOrder, DeliverOrder, FollowOrder, LookOrder, MergeOrder, RemoveOrder, TestOrder,
};
use crate::queue::LanePart;
use crate::session::{AgentChoice, ProcessRef, SessionRole};
use crate::setup::{Environment, Origin, Setup};
use crate::workspace::TreeRef;
use crate::{Attempt, Commit, ConversationId, JobId, NoticeId, ProjectId, PullId, SessionId};

/// An effect, with all that is needed to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Creates the workspace of a session.
    CreateWorkspace { session: SessionId, attempt: Attempt, tries: u32, plan: WorkspacePlan },
    /// Sets a workspace up.
    SetUp { session: SessionId, attempt: Attempt, tries: u32, plan: SetUpPlan },
    /// Starts the process of an agent.
    Launch { session: SessionId, attempt: Attempt, tries: u32, plan: LaunchPlan },
    /// Follows the output of an agent for as long as its process may live.
    Follow { agent: AgentChoice, order: FollowOrder },
    /// Gives a person's answer to an agent.
    Answer { agent: AgentChoice, order: AnswerOrder },
    /// Delivers a message to an agent.
    Deliver { agent: AgentChoice, order: DeliverOrder },
    /// Cancels the running turn of an agent.
    CancelTurn { agent: AgentChoice, order: CancelOrder },
    /// Looks at an agent and its workspace.
    Look { agent: AgentChoice, runtime: String, place: WorkspaceLocation, order: LookOrder },
    /// Ends the process of an attempt.
    End {
        session: SessionId,
        attempt: Attempt,
        tries: u32,
        process: Option<ProcessRef>,
        runtime: String,
        /// The workspace whose set-up may have left something running, if the session itself ends.
        place: Option<WorkspaceLocation>,
    },
    /// Ends a process that should not exist: one of a replaced attempt, or of an ended session.
    EndStray { session: SessionId, attempt: Attempt, runtime: String },
    /// Removes a workspace, if the gate allows it.
    RemoveWorkspace { tries: u32, kind: String, order: RemoveOrder },
    /// Sends a notice on one channel, or finds its channels.
    Notify { notice: Box<Notice>, channel: Option<String> },
    /// Runs a job.
    RunJob { job: Box<Job> },
    /// Tests a merge.
    TestMerge { order: TestOrder, tries: u32 },
    /// Merges a pull request.
    Merge { order: MergeOrder, tries: u32 },
    /// Asks a runtime for all its processes of ours. Wanted by the reconciler, not by any one session.
    Census { runtime: String },
}

/// Identity of an effect: only one with the same key runs at a time, and a late result is known by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKey {
    CreateWorkspace { session: SessionId, attempt: Attempt, tries: u32 },
    SetUp { session: SessionId, attempt: Attempt, tries: u32 },
    Launch { session: SessionId, attempt: Attempt, tries: u32 },
    Follow { session: SessionId, attempt: Attempt },
    Answer { session: SessionId, attempt: Attempt, number: u32 },
    Deliver { session: SessionId, attempt: Attempt, delivery: u32, tries: u32 },
    CancelTurn { session: SessionId, attempt: Attempt, number: u32 },
    Look { session: SessionId, attempt: Attempt },
    End { session: SessionId, attempt: Attempt, tries: u32 },
    EndStray { session: SessionId, attempt: Attempt },
    RemoveWorkspace { session: SessionId, tries: u32 },
    Notify { notice: NoticeId, channel: Option<String>, tries: u32 },
    RunJob { job: JobId, tries: u32 },
    TestMerge { pull: PullId, head: Commit, base: Commit, ahead: Vec<LanePart>, checks: bool, tries: u32 },
    Merge { pull: PullId, head: Commit, base: Commit, with: Vec<LanePart>, tries: u32 },
    Census { runtime: String },
}

/// Plan of a workspace that is to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspacePlan {
    pub project: ProjectId,
    /// The main checkout of the repository.
    pub repository: String,
    pub kind: String,
    pub name: String,
    pub branch: String,
    pub base_branch: String,
    pub origin: Origin,
    /// The ref of an earlier workspace's last state, to be restored.
    pub rescue: Option<String>,
}

/// The workspace that an agent should be in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceLocation {
    pub kind: String,
    pub tree: TreeRef,
}

/// Plan of an agent's launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchPlan {
    pub project: ProjectId,
    pub name: String,
    pub role: SessionRole,
    pub agent: AgentChoice,
    pub runtime: String,
    pub path: String,
    pub conversation: ConversationId,
    pub resume: bool,
    /// The first message, for agents that take it with the launch.
    pub prompt: Option<String>,
    pub environment: Environment,
    /// The ports leased to the session, by the variables that carry them.
    pub ports: BTreeMap<String, u16>,
}

/// Plan of a workspace's set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetUpPlan {
    pub project: ProjectId,
    /// The main checkout of the repository.
    pub repository: String,
    pub kind: String,
    pub name: String,
    pub path: String,
    pub setup: Setup,
    pub environment: Environment,
    pub ports: BTreeMap<String, u16>,
    /// The runtime that the session's agent will live in.
    pub runtime: String,
}

impl Effect {
    pub fn key(&self) -> EffectKey {
        match self {
            Effect::CreateWorkspace { session, attempt, tries, .. } => {
                EffectKey::CreateWorkspace { session: *session, attempt: *attempt, tries: *tries }
            }
            Effect::SetUp { session, attempt, tries, .. } => {
                EffectKey::SetUp { session: *session, attempt: *attempt, tries: *tries }
            }
            Effect::Follow { order, .. } => {
                EffectKey::Follow { session: order.session, attempt: order.attempt }
            }
            Effect::Answer { order, .. } => {
                EffectKey::Answer { session: order.session, attempt: order.attempt, number: order.number }
            }
            Effect::Launch { session, attempt, tries, .. } => {
                EffectKey::Launch { session: *session, attempt: *attempt, tries: *tries }
            }
            Effect::Deliver { order, .. } => EffectKey::Deliver {
                session: order.session,
                attempt: order.attempt,
                delivery: order.delivery,
                tries: order.tries,
            },
            Effect::CancelTurn { order, .. } => {
                EffectKey::CancelTurn { session: order.session, attempt: order.attempt, number: order.number }
            }
            Effect::Look { order, .. } => EffectKey::Look { session: order.session, attempt: order.attempt },
            Effect::End { session, attempt, tries, .. } => {
                EffectKey::End { session: *session, attempt: *attempt, tries: *tries }
            }
            Effect::EndStray { session, attempt, .. } => {
                EffectKey::EndStray { session: *session, attempt: *attempt }
            }
            Effect::RemoveWorkspace { order, tries, .. } => {
                EffectKey::RemoveWorkspace { session: order.tree.session, tries: *tries }
            }
            Effect::Notify { notice, channel } => EffectKey::Notify {
                notice: notice.id,
                channel: channel.clone(),
                tries: notice.tries_on(channel.as_deref()),
            },
            Effect::RunJob { job } => EffectKey::RunJob { job: job.id, tries: job.tries },
            Effect::TestMerge { order, tries } => EffectKey::TestMerge {
                pull: order.pull.clone(),
                head: order.head.clone(),
                base: order.base.clone(),
                ahead: order.ahead.clone(),
                checks: order.checks,
                tries: *tries,
            },
            Effect::Merge { order, tries } => EffectKey::Merge {
                pull: order.pull.clone(),
                head: order.head.clone(),
                base: order.base.clone(),
                with: order.with.clone(),
                tries: *tries,
            },
            Effect::Census { runtime } => EffectKey::Census { runtime: runtime.clone() },
        }
    }
}

impl EffectKey {
    /// Returns the session that a failure is reported to, if the effect belongs to one.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            EffectKey::CreateWorkspace { session, .. }
            | EffectKey::SetUp { session, .. }
            | EffectKey::Answer { session, .. }
            | EffectKey::Launch { session, .. }
            | EffectKey::Deliver { session, .. }
            | EffectKey::CancelTurn { session, .. }
            | EffectKey::Look { session, .. }
            | EffectKey::End { session, .. }
            | EffectKey::RemoveWorkspace { session, .. } => Some(*session),
            _ => None,
        }
    }

    /// Returns the session of a lasting effect, which is cancelled once it is no longer wanted.
    ///
    /// All other effects run to their end, because their result is worth knowing.
    pub fn lasts_for(&self) -> Option<SessionId> {
        match self {
            EffectKey::SetUp { session, .. } | EffectKey::Follow { session, .. } => Some(*session),
            _ => None,
        }
    }
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EffectKey::CreateWorkspace { session, attempt, tries } => {
                write!(f, "create workspace of {session} (attempt {attempt}, try {tries})")
            }
            EffectKey::SetUp { session, attempt, tries } => {
                write!(f, "set up workspace of {session} (attempt {attempt}, try {tries})")
            }
            EffectKey::Follow { session, attempt } => write!(f, "follow {session} (attempt {attempt})"),
            EffectKey::Answer { session, number, .. } => write!(f, "answer {number} to {session}"),
            EffectKey::Launch { session, attempt, tries } => {
                write!(f, "launch {session} (attempt {attempt}, try {tries})")
            }
            EffectKey::Deliver { session, delivery, tries, .. } => {
                write!(f, "deliver {delivery} to {session} (try {tries})")
            }
            EffectKey::CancelTurn { session, number, .. } => {
                write!(f, "cancel the turn of {session} (cancellation {number})")
            }
            EffectKey::Look { session, .. } => write!(f, "look at {session}"),
            EffectKey::End { session, attempt, tries } => {
                write!(f, "end {session} (attempt {attempt}, try {tries})")
            }
            EffectKey::EndStray { session, attempt } => {
                write!(f, "end a stray process of {session} (attempt {attempt})")
            }
            EffectKey::RemoveWorkspace { session, tries } => {
                write!(f, "remove workspace of {session} (try {tries})")
            }
            EffectKey::Notify { notice, channel: Some(channel), tries } => {
                write!(f, "tell {notice} on {channel} (try {tries})")
            }
            EffectKey::Notify { notice, channel: None, tries } => {
                write!(f, "find out whom {notice} is for (try {tries})")
            }
            EffectKey::RunJob { job, tries } => write!(f, "run job {job} (try {tries})"),
            EffectKey::TestMerge { pull, ahead, .. } => {
                write!(f, "test the merge of {pull}")?;
                if ahead.is_empty() { Ok(()) } else { write!(f, " after {} others", ahead.len()) }
            }
            EffectKey::Merge { pull, with, .. } => {
                write!(f, "merge {pull}")?;
                if with.is_empty() { Ok(()) } else { write!(f, " and {} others", with.len()) }
            }
            EffectKey::Census { runtime } => write!(f, "count what {runtime} runs"),
        }
    }
}
