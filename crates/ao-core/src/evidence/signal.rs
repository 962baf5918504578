//! Signals of an agent, with their source and confidence.

use serde::{Deserialize, Serialize};

use crate::input::ProcessLife;
use crate::{Attempt, Timestamp};

/// The source of a signal, in the order of trust: a protocol reports facts, a screen has to be interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalSource {
    /// The agent's own protocol on stdio or a socket.
    Protocol,
    /// A hook that the agent ran.
    Hook,
    /// The tail of the agent's transcript.
    Transcript,
    /// The contents of the terminal.
    Terminal,
    /// The runtime's look at the process: alive, busy, gone.
    Process,
}

/// The weight of a signal against another one of about the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// One observation of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// The attempt that the reporter's environment names. Signals of other attempts are dropped.
    pub attempt: Attempt,
    pub source: SignalSource,
    /// The time of the observation, not of its arrival: a late signal must not pass for a new one.
    pub at: Timestamp,
    pub confidence: Confidence,
    pub reading: Reading,
}

impl Signal {
    /// A signal of high confidence.
    pub fn certain(attempt: Attempt, source: SignalSource, at: Timestamp, reading: Reading) -> Signal {
        Signal { attempt, source, at, confidence: Confidence::High, reading }
    }
}

/// The content of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The agent has started and reported nothing else.
    Started,
    /// A turn or a tool call is running.
    Working { doing: String },
    /// The turn is over; the agent sits at its prompt.
    Idle,
    /// A dialog is open: a permission, a question, a choice.
    Asking { question: String },
    /// The agent reports that it cannot continue by itself.
    Blocked { on: String },
    /// The agent's login has ended; a person has to log in again.
    LoggedOut,
    /// The provider refuses more work, until a time it may have named.
    Limited { until: Option<Timestamp> },
    /// The process lives; `busy` if it or a child uses the processor or the disk.
    Alive { busy: bool },
    /// The process is gone.
    Exited { code: Option<i32> },
    /// The process lives, but its holder is gone: it can neither be read nor written to any more.
    Unheld,
    /// A person typed into the agent's terminal.
    HumanTyped,
    /// The probe failed, or the screen is not recognized. Reveals nothing about the agent.
    Unreadable { why: String },
}

impl From<ProcessLife> for Reading {
    fn from(life: ProcessLife) -> Reading {
        match life {
            ProcessLife::Alive { busy } => Reading::Alive { busy },
            ProcessLife::Gone { code } => Reading::Exited { code },
            ProcessLife::Unheld => Reading::Unheld,
            ProcessLife::Unknown => Reading::Unreadable { why: "the runtime cannot tell".into() },
        }
    }
}

impl Reading {
    /// Returns whether the reading is a claim about the activity, rather than only that the process lives.
    pub fn is_claim(&self) -> bool {
        matches!(
            self,
            Reading::Working { .. }
                | Reading::Idle
                | Reading::Asking { .. }
                | Reading::Blocked { .. }
                | Reading::LoggedOut
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
