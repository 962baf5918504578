//! How an AI agent is started, read, spoken to and resumed: by terminal, by pipes, or by a protocol of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ao_core::effect::LaunchPlan;
use ao_core::evidence::Signal;
use ao_core::order::{AnswerOrder, DeliverOrder};
use ao_core::session::{AgentAbilities, ProcessRef};
use ao_core::setup::Secret;
use ao_core::{Attempt, ConversationId, SessionId};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::reporter::Reporter;

/// What to run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub program: String,
    /// Seen by every process on the host: nothing secret belongs here.
    pub args: Vec<String>,
    /// Added to the allowed part of the daemon's environment.
    pub env: BTreeMap<String, String>,
    /// Names that are passed on from the daemon's environment, besides what every program gets.
    pub pass: Vec<String>,
    /// Secrets that the runtime resolves and puts into the environment; the values never pass through here.
    pub secrets: Vec<Secret>,
    pub io: Io,
}

/// Without the values of its environment, which may hold a token.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("pass", &self.pass)
            .field("secrets", &self.secrets)
            .field("io", &self.io)
            .finish()
    }
}

/// How the process is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolIo")]
pub enum Io {
    /// On a terminal of its own, which can be typed at and seen.
    Terminal,
    /// On pipes that stay open, for a program that speaks a protocol. Its stderr is no part of what it says there.
    Pipes,
    /// Without input: stdin is at its end from the beginning. Stdout and stderr are kept as one, in the order in which they
    /// came. For a program that is given its task, does it and ends: one that finds an open stdin waits for more.
    Output,
}

/// How a launch can go ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    Run {
        command: Command,
        conversation: Option<ConversationId>,
    },
    /// The conversation that was to be resumed does not exist.
    NothingToResume,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// It is written, or may be. Whether the agent took it is for a proof to say.
    Written,
    /// The agent has taken it: this is the turn as the agent has it, under the name of [`Report::Taken`](crate::Report).
    Taken { turn: String, text: String },
    /// A dialog was open, or a person's draft was in the way. Nothing was typed. What was seen comes along, because
    /// nobody else may have seen it.
    Held { why: String, signals: Vec<Signal> },
}

/// Which agent to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: Option<ProcessRef>,
    pub conversation: Option<ConversationId>,
}

/// An agent to read along with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: ProcessRef,
    pub conversation: Option<ConversationId>,
    /// The message that it was started with, if that is not proven yet.
    pub with_launch: Option<String>,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    Given,
    /// Another question is open, or none. Nothing was typed.
    NotAsked {
        why: String,
    },
}

/// How an AI agent is started, read, spoken to and resumed.
#[async_trait]
pub trait Agent: Send + Sync {
    fn abilities(&self) -> AgentAbilities;

    /// Says what to run for this plan. The plan's own environment and ports are added by the caller. A prompt that the
    /// conversation already has is left out. Writes what the agent needs outside of the repository (trust, hooks, settings),
    /// and can be called again.
    async fn prepare(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &LaunchPlan,
    ) -> Result<Prepared, AgentError>;

    /// Brings a text to the agent as one user's turn.
    ///
    /// Called again for the same delivery after a crash, a time-out, or with a higher `tries`. It must then find out
    /// whether an earlier call got through (input log, transcript, draft on the screen): it submits a visible draft,
    /// writes anew only what is certainly not there, and otherwise says [`Delivered::Written`] and leaves it to the
    /// proof. It never types into a dialog or over a person's draft. An error means that nothing was written.
    async fn deliver(&self, order: &DeliverOrder) -> Result<Delivered, AgentError>;

    /// Reads along with the agent and reports whatever it says, until its process has ended and all is read.
    ///
    /// Runs for as long as the process does, from its launch on, and again after each start of the daemon. Dropped when
    /// nobody wants it any more. What was said while nobody read along is read too, and told with its own time.
    async fn follow(&self, order: &FollowOrder, reporter: Arc<dyn Reporter>);

    /// Gives a person's answer to the dialog that is open, and only to that one.
    ///
    /// Not a message: it goes to the dialog, which messages keep away from.
    async fn answer(&self, order: &AnswerOrder) -> Result<Answered, AgentError>;

    /// Looks at the agent with every source there is. Sources that cannot be read say so; none is made up.
    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError>;
}

/// Why an agent could not be handled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentError {
    #[error("the agent `{agent}` cannot {wish}")]
    Unable { agent: String, wish: String },
    #[error("{0}")]
    Failed(String),
}
