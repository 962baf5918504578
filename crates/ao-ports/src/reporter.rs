//! Reports of adapters that were not requested: hooks, output, webhooks, exits.

use ao_core::budget::UsageTotal;
use ao_core::evidence::Signal;
use ao_core::session::SessionInput;
use ao_core::{Attempt, ConversationId, Input, SessionId};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// An observation of an adapter.
///
/// The session comes from our own id in the agent's environment. What cannot be attributed is not reported: guessing
/// has put one agent's state on another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentReport {
    Signal {
        session: SessionId,
        signal: Signal,
    },
    /// The agent took this text as a user's turn.
    ///
    /// `turn` identifies the turn, with the same name from every source and at every repetition: a turn proves one
    /// message, and people write "continue" twice.
    Taken {
        session: SessionId,
        attempt: Attempt,
        turn: String,
        text: String,
    },
    /// The counters of this attempt, as they stand.
    Spent {
        session: SessionId,
        attempt: Attempt,
        spend: UsageTotal,
    },
    /// The agent itself names the conversation that it works in.
    Conversation {
        session: SessionId,
        attempt: Attempt,
        conversation: ConversationId,
    },
    /// The agent does not know the conversation that it was to resume.
    ConversationGone {
        session: SessionId,
        attempt: Attempt,
    },
    /// The agent writes more than can be reported; only the latest part of it is.
    Flooding {
        session: SessionId,
        attempt: Attempt,
    },
    /// The last line of output before the process ended.
    LastWords {
        session: SessionId,
        attempt: Attempt,
        text: String,
    },
    /// The agent was denied a tool call.
    ///
    /// `call` identifies it, with the same name from every source and at every repetition: it is counted once.
    Denied {
        session: SessionId,
        attempt: Attempt,
        call: String,
        tool: String,
    },
}

/// Converts a report into the engine's input.
impl From<AgentReport> for Input {
    fn from(report: AgentReport) -> Input {
        let (session, input) = match report {
            AgentReport::Signal { session, signal } => (session, SessionInput::Signal(signal)),
            AgentReport::Taken { session, attempt, turn, text } => {
                (session, SessionInput::Proof { attempt, delivery: None, turn, text })
            }
            AgentReport::Spent { session, attempt, spend } => {
                (session, SessionInput::Spent { attempt, spend })
            }
            AgentReport::Conversation { session, attempt, conversation } => {
                (session, SessionInput::ConversationNamed { attempt, conversation })
            }
            AgentReport::ConversationGone { session, attempt } => {
                (session, SessionInput::ConversationGone { attempt })
            }
            AgentReport::Flooding { session, attempt } => (session, SessionInput::Flooding { attempt }),
            AgentReport::LastWords { session, attempt, text } => {
                (session, SessionInput::LastWords { attempt, text })
            }
            AgentReport::Denied { session, attempt, call, tool } => {
                (session, SessionInput::Denied { attempt, call, tool })
            }
        };
        Input::Session { session, input }
    }
}

/// The receiver of reports, with the engine behind it.
#[async_trait]
pub trait Reporter: Send + Sync {
    /// Sends a report. Returns once it is durable or was found to change nothing; waits when the engine is busy, so a
    /// flood of reports slows its sender and not the engine.
    async fn report(&self, report: AgentReport);
}
