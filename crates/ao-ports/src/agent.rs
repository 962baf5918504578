//! Starts, reads, prompts, answers, cancels and resumes an AI agent: by terminal, by pipes, or by its own protocol.
//!
//! ```text
//!  prepare ─► Command ─► (the runtime starts it) ─► follow ─► Report: signals of its state, turns, replies, tool calls,
//!                                                     │               plans, usage, asks
//!  deliver, answer, cancel ─► its process             └─► until the process has ended
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ao_core::effect::LaunchPlan;
use ao_core::evidence::Signal;
use ao_core::order::{AnswerOrder, CancelOrder, DeliverOrder, FollowOrder, LookOrder};
use ao_core::session::AgentAbilities;
use ao_core::setup::SecretRef;
use ao_core::{Attempt, ConversationId, SessionId};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::reporter::Reporter;

/// The program to run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCommand {
    pub program: String,
    /// Visible to every process on the host: no secrets.
    pub args: Vec<String>,
    /// Added to the allowed part of the daemon's environment.
    pub env: BTreeMap<String, String>,
    /// Names that are passed on from the daemon's environment, in addition to the common part.
    pub pass: Vec<String>,
    /// Secrets that the runtime reads and puts into the environment; the values never pass through here.
    pub secrets: Vec<SecretRef>,
    /// Files that the runtime places for the process, private to it. They are gone when the process is ended.
    pub files: Vec<CommandFile>,
    pub io: ProcessIo,
}

/// A file for a process, such as its task.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFile {
    /// A plain name, without folders.
    pub name: String,
    pub contents: String,
}

impl CommandFile {
    /// Returns the text that stands for the path of this file in the arguments of its command.
    pub fn placeholder(&self) -> String {
        format!("{{ao-file:{}}}", self.name)
    }
}

/// Without its contents, which may be long and a secret.
impl fmt::Debug for CommandFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ProgramCommand {
    /// Returns the arguments with the paths of the files, which the runtime has placed in this folder.
    pub fn args_with_files_in(&self, folder: &str) -> Vec<String> {
        let place = |arg: &String| {
            self.files.iter().fold(arg.clone(), |arg, file| {
                arg.replace(&file.placeholder(), &format!("{folder}/{}", file.name))
            })
        };
        self.args.iter().map(place).collect()
    }
}

/// Omits the values of the environment, which may hold a token.
impl fmt::Debug for ProgramCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("pass", &self.pass)
            .field("secrets", &self.secrets)
            .field("files", &self.files)
            .field("io", &self.io)
            .finish()
    }
}

/// The way in which a process is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolIo")]
pub enum ProcessIo {
    /// On a terminal of its own, which can be typed into and read.
    Terminal,
    /// On pipes that stay open, for a program that speaks a protocol. Its stderr is not part of the protocol.
    Pipes,
    /// Without input: stdin is at its end from the beginning. Stdout and stderr are recorded as one stream, in order.
    /// For a program that gets its task, does it and ends: with an open stdin it would wait for more.
    Output,
}

/// The result of preparing a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchPreparation {
    /// The runtime starts this command.
    Run { command: ProgramCommand, conversation: Option<ConversationId> },
    /// The conversation to resume does not exist.
    NothingToResume,
}

/// The result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// It is written, or may be. A proof decides whether the agent took it.
    Written,
    /// The agent has taken it: this is the turn as the agent has it, under the name of
    /// [`AgentReport::TurnBegan`](ao_core::agent_report::AgentReport).
    Taken { turn: String, text: String },
    /// A dialog was open, or a person's draft was in the way. Nothing was typed. The signals are included, because no
    /// other source may have seen them.
    Held { why: String, signals: Vec<Signal> },
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The agent has got the answer.
    Given,
    /// The ask is no longer open. Nothing was written.
    Gone { why: String },
}

/// The result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancelled {
    /// A turn was running and is over now, or will be in a moment.
    Cut,
    /// No turn was running.
    NoTurn,
}

/// An AI agent: started, read, prompted and resumed.
#[async_trait]
pub trait Agent: Send + Sync {
    fn abilities(&self) -> AgentAbilities;

    /// Returns the command for this plan. The caller adds the plan's own environment and ports. A prompt that the
    /// conversation already has is left out. Writes what the agent needs outside of the repository (trust, hooks,
    /// settings), and can be called again.
    async fn prepare(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &LaunchPlan,
    ) -> Result<LaunchPreparation, AgentError>;

    /// Delivers a text to the agent as one user's turn.
    ///
    /// Called again for the same delivery after a crash, a time-out, or with a higher `tries`. It must then find out
    /// whether an earlier call got through (input log, transcript, draft on the screen): it submits a visible draft,
    /// writes again only what is certainly not there, and otherwise returns [`DeliveryOutcome::Written`] and leaves it to
    /// the proof. It never types into a dialog or over a person's draft. An error means that nothing was written.
    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError>;

    /// Follows the agent and reports everything it does, until its process has ended and all output is read.
    ///
    /// Runs for as long as the process does, from its launch on, and again after each start of the daemon. Dropped
    /// when it is no longer wanted. Output from times without a reader is read too, and reported with its own time.
    async fn follow(&self, order: &FollowOrder, reporter: Arc<dyn Reporter>);

    /// Gives a person's answer to an open ask, and only to that one.
    ///
    /// Not a message: it goes to the ask, which messages avoid. Called again with the same number after a crash or a
    /// time-out; it must then not answer twice. An ask that was answered is not reported as open again.
    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError>;

    /// Cancels the running turn, without ending the process or the conversation.
    ///
    /// Called only if [`AgentAbilities::cancel`] is declared. Called again with the same number, it returns the same
    /// result and cancels no later turn. Open asks of the turn are closed with it.
    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError>;

    /// Looks at the agent with every source there is. Sources that cannot be read report that; none is made up.
    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError>;
}

/// The reason why an operation on an agent failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentError {
    #[error("the agent `{agent}` cannot {wish}")]
    Unable { agent: String, wish: String },
    #[error("{0}")]
    Failed(String),
}
