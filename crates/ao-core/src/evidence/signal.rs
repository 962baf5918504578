//! What can be seen of an agent, by whom, and how far it is to be believed.

use serde::{Deserialize, Serialize};

use crate::{Attempt, Timestamp};

/// Who saw it. The order is the order of trust: a protocol says what is, a screen has to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The agent's own protocol on stdio or a socket.
    Protocol,
    /// A hook that the agent ran.
    Hook,
    /// The tail of the agent's transcript.
    Transcript,
    /// What the terminal shows.
    Terminal,
    /// The runtime's look at the process: alive, busy, gone.
    Process,
}

/// How far a signal is to be believed against another one of about the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// One thing seen of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// The attempt whose environment carried our id to whoever reports. Signals of other attempts are dropped.
    pub attempt: Attempt,
    pub source: Source,
    /// When it was seen, not when it reached us: a late signal must not pass for a new one.
    pub at: Timestamp,
    pub confidence: Confidence,
    pub reading: Reading,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The agent has come up; it has not said what it does.
    Started,
    /// A turn or a tool call is running.
    Working { doing: String },
    /// The turn is over; the agent sits at its prompt.
    Idle,
    /// A dialog is open: a permission, a question, a choice.
    Asking { question: String },
    /// The agent says that it cannot go on by itself.
    Blocked { on: String },
    /// The provider refuses more work, until a time it may have named.
    Limited { until: Option<Timestamp> },
    /// The process lives; `busy` if it or a child uses the processor or the disk.
    Alive { busy: bool },
    /// The process is gone.
    Exited { code: Option<i32> },
    /// The process lives, and what held its terminal or its pipes is gone: it can neither be read nor spoken to any more.
    Unheld,
    /// A person typed into the agent's terminal.
    HumanTyped,
    /// The probe failed, or the screen is none that we know. Says nothing about the agent.
    Unreadable { why: String },
}

impl Reading {
    /// Whether this says what the agent is doing, rather than only that it lives.
    pub fn is_claim(&self) -> bool {
        matches!(
            self,
            Reading::Working { .. }
                | Reading::Idle
                | Reading::Asking { .. }
                | Reading::Blocked { .. }
                | Reading::Limited { .. }
        )
    }

    pub(crate) fn same_kind(&self, other: &Reading) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && match (self, other) {
                (Reading::Alive { busy: a }, Reading::Alive { busy: b }) => a == b,
                (Reading::Asking { question: a }, Reading::Asking { question: b }) => a == b,
                (Reading::Limited { until: a }, Reading::Limited { until: b }) => a == b,
                (Reading::Blocked { on: a }, Reading::Blocked { on: b }) => a == b,
                _ => true,
            }
    }
}
