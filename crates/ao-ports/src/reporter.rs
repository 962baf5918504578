//! Reports of adapters that were not requested: hooks, output, exits.

use ao_core::agent_report::AgentReport;
use ao_core::evidence::{Signal, SignalSource};
use ao_core::session::SessionInput;
use ao_core::{Attempt, ConversationId, Input, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// An observation of an adapter.
///
/// The session comes from our own id in the agent's environment. What cannot be attributed is not reported: guessing
/// has put one agent's state on another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The state that an agent is in.
    Signal { session: SessionId, signal: Signal },
    /// An agent's own report of its work.
    Agent {
        session: SessionId,
        attempt: Attempt,
        source: SignalSource,
        /// The time of the observation, not of its arrival.
        at: Timestamp,
        report: AgentReport,
    },
    /// The agent itself names the conversation that it works in.
    Conversation { session: SessionId, attempt: Attempt, conversation: ConversationId },
    /// The agent does not know the conversation that it was to resume.
    ConversationGone { session: SessionId, attempt: Attempt },
    /// The agent writes more than can be reported; only the latest part of it is.
    Flooding { session: SessionId, attempt: Attempt },
}

/// Converts a report into the engine's input.
impl From<Report> for Input {
    fn from(report: Report) -> Input {
        let (session, input) = match report {
            Report::Signal { session, signal } => (session, SessionInput::Signal(signal)),
            Report::Agent { session, attempt, source, at, report } => {
                (session, SessionInput::Reported { attempt, source, at, report })
            }
            Report::Conversation { session, attempt, conversation } => {
                (session, SessionInput::ConversationNamed { attempt, conversation })
            }
            Report::ConversationGone { session, attempt } => {
                (session, SessionInput::ConversationGone { attempt })
            }
            Report::Flooding { session, attempt } => (session, SessionInput::Flooding { attempt }),
        };
        Input::Session { session, input }
    }
}

/// The receiver of reports, with the engine behind it.
#[async_trait]
pub trait Reporter: Send + Sync {
    /// Sends a report. Returns once it is durable or was found to change nothing; waits when the engine is busy, so a
    /// flood of reports slows its sender and not the engine.
    async fn report(&self, report: Report);
}
