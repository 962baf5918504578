//! Orders that effects carry to the ports of agents, workspaces and the SCM.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::queue::{LandingStrategy, LanePart};
use crate::session::ProcessRef;
use crate::setup::Environment;
use crate::workspace::{KeepReason, TreeFacts, TreeRef, reasons_against_discard, reasons_to_keep};
use crate::{AskId, Attempt, Commit, ConversationId, PullId, SessionId};

/// A message for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: Option<ProcessRef>,
    pub conversation: Option<ConversationId>,
    /// Unique within the session.
    pub delivery: u32,
    /// 1 for the first try.
    pub tries: u32,
    /// Cleaned by [`sanitise`](crate::text::sanitise), and proven by this very text.
    pub text: String,
    /// May go into a running turn.
    pub interrupt: bool,
}

/// An answer to an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: ProcessRef,
    /// Unique within the session. The same number again is the same answer.
    pub number: u32,
    /// The ask, if the agent has reported it by its id. Otherwise it is the dialog with this question.
    pub ask: Option<AskId>,
    /// The question that the person who answers has read.
    pub question: String,
    /// The id of the option that was chosen, if the ask has options.
    pub option: Option<String>,
    /// The answer as the person wrote it.
    pub text: String,
}

/// The turn of an agent that is to be cancelled, without ending its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: ProcessRef,
    pub conversation: Option<ConversationId>,
    /// Unique within the session. The same number again is the same cancellation.
    pub number: u32,
}

/// The agent to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: Option<ProcessRef>,
    pub conversation: Option<ConversationId>,
}

/// An agent whose output to follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: ProcessRef,
    pub conversation: Option<ConversationId>,
    /// The message that it was started with, if that is not proven yet.
    pub with_launch: Option<String>,
}

/// A reply in a review thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReply {
    pub pull: PullId,
    pub thread: String,
    pub text: String,
    pub resolve: bool,
    /// Marks it as ours: a repeated call leaves one reply, and reading it back is no news.
    pub key: String,
}

/// An order to remove a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveOrder {
    pub tree: TreeRef,
    /// Commands that run in it before it is removed, once the gate has no reason to keep it.
    pub teardown: Vec<String>,
    /// The environment of these commands.
    pub environment: Environment,
    pub timeout: Duration,
    /// True if a process of a runtime lives in it, as the caller has found out just before; absent if that is unknown.
    pub lived_in: Option<bool>,
    /// Removes it even if it has unsaved work, which a person discards. A rescue ref keeps its last state.
    pub discard: bool,
}

impl RemoveOrder {
    /// Returns the reasons to keep the workspace by the deletion gate, none if it may go. Both what the adapter has found
    /// and what the runtimes have reported can keep it.
    pub fn reasons(&self, facts: &TreeFacts) -> Vec<KeepReason> {
        let process_inside = match (facts.process_inside, self.lived_in) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        let facts = TreeFacts { process_inside, ..facts.clone() };
        if self.discard { reasons_against_discard(&facts) } else { reasons_to_keep(&facts) }
    }
}

/// A merge to be tested: the tree that would land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOrder {
    pub pull: PullId,
    pub head: Commit,
    pub base: Commit,
    /// Pull requests that are merged into the base before it, in order.
    pub ahead: Vec<LanePart>,
    /// The way in which all of them would land.
    pub strategy: LandingStrategy,
    /// The checks that policy requires, beside those that the forge requires by itself. None of them may be skipped.
    pub required: Vec<String>,
    /// Run the checks. Without, only the tree that would land is worked out, if there can be one.
    pub checks: bool,
}

/// A merge, pinned to the commits and the tree that were tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeOrder {
    pub pull: PullId,
    pub head: Commit,
    pub base: Commit,
    /// Those that land with it, before it, in order: each as commits of its own, and all of them at once or none.
    pub with: Vec<LanePart>,
    /// The tree of the base once all of them have landed.
    pub tree: String,
    pub strategy: LandingStrategy,
    /// The person who requested the merge, if it was not a rule.
    pub by: Option<String>,
    /// Delete its branch once it is merged.
    pub delete_branch: bool,
}
