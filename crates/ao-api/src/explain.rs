//! The explanation of a session's state.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::message::Message;
use crate::session::{Hold, SessionState, Status};

/// The state of a session with everything that was considered for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub id: String,
    pub name: String,
    pub status: Status,
    /// The phase of its life cycle, which decides before any evidence, such as `queued` or `running`.
    pub phase: SessionPhase,
    /// The rules for evidence, in order; one of them decided, if evidence counts in this phase.
    pub rules: Vec<Rule>,
    /// The latest signal of each source.
    pub signals: Vec<Signal>,
    /// The reason it waits for a slot, if it does.
    pub queue: Option<Queue>,
    pub holds: Vec<Hold>,
    pub incidents: Vec<Incident>,
    /// Undelivered messages, each with the reason.
    pub messages: Vec<Message>,
    /// The drift of its workspace, if there is one.
    pub drift: Option<String>,
    /// Commands that help.
    pub next: Vec<String>,
}

/// A rule for evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub rule: EvidenceRule,
    /// A description of the rule.
    pub meaning: String,
    /// The state that it yields.
    pub says: SessionState,
    pub won: bool,
}

/// One signal of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signal {
    /// `person` if a person typed.
    pub source: EvidenceSource,
    pub reading: SignalReading,
    pub detail: String,
    pub confidence: SignalConfidence,
    pub at: Timestamp,
    pub age_seconds: u64,
    /// `true` if this signal decided.
    pub decided: bool,
}

/// A position in the queue for a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// The number of sessions of its project before it.
    pub before: u32,
    /// The reason it does not run.
    pub obstacle: Option<String>,
}

/// An open incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// `ci-failed`, `agent-needs-input`, … or the name of a custom event.
    pub kind: String,
    pub problem: String,
    pub detail: String,
    pub opened_at: Timestamp,
    /// The number of actions taken so far.
    pub acted: u32,
    /// The escalation level.
    pub asked: IncidentLevel,
    /// The reason no message was sent yet: it may be flaky, or not caused by the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

wire_enum! {
    /// The phase of a session's life cycle.
    pub enum SessionPhase {
        Queued, Preparing, SetupFailed, Starting, Running, Stopping, Retrying, Exited, Resting, Ended,
    } or Unknown
}

wire_enum! {
    /// The name of a rule for evidence.
    pub enum EvidenceRule {
        ExitSeen, DialogOpen, SaidBlocked, LoggedOut, LimitInForce, ProbeFailed, LimitOver, TurnEnded, TurnRunning,
        BusyButQuiet, WorkUnconfirmed, JustStarted, NoEvidence,
    } or Unknown
}

wire_enum! {
    /// The source of a signal.
    pub enum EvidenceSource { Protocol, Hook, Transcript, Terminal, Process, Person } or Unknown
}

wire_enum! {
    /// The content of a signal, without its details.
    pub enum SignalReading {
        Started, Working, Idle, Asking, Blocked, LoggedOut, Limited, Alive, Exited, Typed, Unreadable, Unheld,
    } or Unknown
}

wire_enum! {
    /// The weight of a signal.
    pub enum SignalConfidence { Low, Medium, High } or Unknown
}

wire_enum! {
    /// The party that handles an incident; with `none` it is only recorded.
    pub enum IncidentLevel { Agent, Orchestrator, Person, None } or Unknown
}
