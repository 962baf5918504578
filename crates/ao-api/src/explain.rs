//! Why a session is said to be what it is said to be.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::message::Message;
use crate::session::{Hold, Status};

/// All that speaks for and against the state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub id: String,
    pub name: String,
    pub status: Status,
    /// The phase of its life that decides before any evidence does, such as `queued` or `running`.
    pub phase: String,
    /// The rules by which evidence is read, in order; one of them won, if evidence is what decides in this phase.
    pub rules: Vec<Rule>,
    /// The latest that each source has seen.
    pub signals: Vec<Signal>,
    /// Why it waits for a slot, if it does.
    pub queue: Option<Queue>,
    pub holds: Vec<Hold>,
    pub incidents: Vec<Incident>,
    /// Messages that wait, each with the reason.
    pub messages: Vec<Message>,
    /// How the agent has left its workspace or branch, if it has.
    pub astray: Option<String>,
    /// What one can do about it, as commands.
    pub next: Vec<String>,
}

/// A rule for reading evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// `exit_seen`, `dialog_open`, …
    pub rule: String,
    /// The same in words.
    pub meaning: String,
    /// The state it says when it wins.
    pub says: String,
    pub won: bool,
}

/// One thing that was seen of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signal {
    /// `protocol`, `hook`, `transcript`, `terminal`, `process`, or `person` for somebody who typed.
    pub source: String,
    /// What was seen, as a word and, where there is more to say, in words.
    pub reading: String,
    pub detail: String,
    /// `low`, `medium` or `high`.
    pub confidence: String,
    pub at: Timestamp,
    pub age_seconds: u64,
    /// Whether this is what decided.
    pub decided: bool,
}

/// A place in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// How many of its project are before it.
    pub before: u32,
    /// What keeps it from running.
    pub obstacle: Option<String>,
}

/// An open problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// `ci-failed`, `agent-needs-input`, …
    pub kind: String,
    pub problem: String,
    pub detail: String,
    pub opened_at: Timestamp,
    /// How often something was done about it.
    pub acted: u32,
    /// Who has been asked to help: `agent`, `orchestrator`, `person` or `nobody`.
    pub asked: String,
    /// Why nobody is told of it yet, if it may be chance or not the change's own fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}
