//! Reports of an agent about its work: turns, replies, tool calls, plans, usage and asks.
//!
//! They are what happens; the [state](crate::evidence::Reading) that an agent is in is reported as a signal.

use serde::{Deserialize, Serialize};

use crate::ask::{Ask, AskDetail};
use crate::budget::UsageTotal;
use crate::{AskId, Timestamp};

/// A report of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentReport {
    /// A turn has begun.
    ///
    /// `turn` identifies it, with the same name from every source and at every repetition: a turn proves one message, and
    /// people write "continue" twice.
    TurnBegan { turn: String, cause: TurnCause },
    /// The latest turn has ended.
    TurnEnded { end: TurnEnd },
    /// The agent has written a complete text to its user.
    Reply { text: String },
    /// A call of a tool was made, has returned or was denied.
    ToolCall(ToolCall),
    /// The plan of the agent, as it stands now.
    Plan { steps: Vec<PlanStep> },
    /// The counters of this attempt, as they stand.
    Usage { spend: UsageTotal },
    /// An ask is open. Reported again, it is the same one, perhaps with more details.
    Asked { ask: Ask },
    /// An ask was answered elsewhere, or withdrawn.
    AskClosed { ask: AskId },
    /// The exact subject of the dialog that a signal with this question reports. For sources that cannot tell when it closes.
    Dialog { question: String, details: Vec<AskDetail> },
}

/// The cause of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnCause {
    /// The agent took this text of its user.
    User {
        text: String,
        /// The delivery, if the reporter knows it for certain.
        delivery: Option<u32>,
    },
    /// The agent began by itself, for example because a background task has ended.
    Agent {},
}

/// The way in which a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// It was completed.
    Done {},
    /// It was cancelled.
    Cancelled {},
    /// It failed, for this reason.
    Failed { why: String },
    /// The provider refuses more work.
    Limited { until: Option<Timestamp> },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Identifies the call, with the same name from every source and at every repetition.
    pub id: String,
    pub tool: String,
    /// The most informative argument, such as the command.
    pub detail: String,
    pub state: CallState,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    Running,
    /// It has returned, with or without success.
    Ended,
    /// The agent was not allowed to make it.
    Denied,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub text: String,
    pub state: StepState,
}

/// The progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Pending,
    Running,
    Done,
}

impl ToolCall {
    /// Returns the call in one line.
    pub fn summary(&self) -> String {
        match (self.tool.is_empty(), self.detail.is_empty()) {
            (_, true) => self.tool.clone(),
            (true, false) => self.detail.clone(),
            (false, false) => format!("{}: {}", self.tool, self.detail),
        }
    }
}

impl AgentReport {
    /// Returns the report that a text was taken as the user's turn.
    pub fn taken(turn: &str, text: &str) -> AgentReport {
        let cause = TurnCause::User { text: text.to_owned(), delivery: None };
        AgentReport::TurnBegan { turn: turn.to_owned(), cause }
    }
}
