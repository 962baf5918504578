//! Inputs and events of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AfterStop, CheckedOut, Delivery, DialogAnswer, HoldKind, Message, NewMessage, ProcessRef, SessionOutcome,
    SessionSpec, TurnCancel,
};
use crate::agent_report::{AgentReport, PlanStep, TurnEnd};
use crate::ask::OpenAsk;
use crate::budget::{SpendLimits, UsageTotal};
use crate::effect::EffectKey;
use crate::evidence::{Signal, SignalSource};
use crate::incident::IncidentKey;
use crate::workspace::KeepReason;
use crate::{AskId, Attempt, ConversationId, PullId, Timestamp};

/// Input for a session that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionInput {
    // Results of effects.
    WorkspaceReady {
        attempt: Attempt,
        path: String,
        base: String,
        /// It existed before, and is used as it is.
        as_found: bool,
    },
    SetUp {
        attempt: Attempt,
    },
    /// One of the project's own commands failed. An automatic retry would only fail again.
    SetupFailed {
        attempt: Attempt,
        why: String,
    },
    /// Nothing was started, because another program listens on one of its ports.
    PortTaken {
        attempt: Attempt,
        port: u16,
    },
    Launched {
        attempt: Attempt,
        process: ProcessRef,
        conversation: Option<ConversationId>,
    },
    /// The agent has nothing to resume: it starts once afresh with the task.
    ConversationGone {
        attempt: Attempt,
    },
    Written {
        attempt: Attempt,
        delivery: u32,
        tries: u32,
    },
    /// A dialog or a person's draft was in the way at the last moment; nothing was typed.
    NotWritten {
        attempt: Attempt,
        delivery: u32,
        tries: u32,
        why: String,
    },
    Looked {
        attempt: Attempt,
        signals: Vec<Signal>,
    },
    /// The drift of the workspace, if there is any.
    Drift {
        attempt: Attempt,
        drift: Option<String>,
    },
    /// Branch and head that are checked out in its workspace now.
    CheckedOut {
        checked_out: CheckedOut,
    },
    /// There is no workspace to start its process in: it was removed by another program or person.
    TreeGone {
        attempt: Attempt,
        path: String,
    },
    Answered {
        attempt: Attempt,
        number: u32,
    },
    NotAnswered {
        attempt: Attempt,
        number: u32,
        why: String,
    },
    TurnCancelled {
        attempt: Attempt,
        number: u32,
        /// A turn was running, and is cut short.
        cut: bool,
    },
    ProcessEnded {
        attempt: Attempt,
    },
    WorkspaceRemoved {
        tries: u32,
        rescue: Option<String>,
    },
    WorkspaceKept {
        tries: u32,
        reasons: Vec<KeepReason>,
    },
    Failed {
        effect: EffectKey,
        why: String,
    },
    // Observations.
    Signal(Signal),
    /// A report of the agent, by its hook, transcript or protocol.
    Reported {
        attempt: Attempt,
        source: SignalSource,
        at: Timestamp,
        report: AgentReport,
    },
    /// The agent reports faster than its reports are of use, and only the latest is passed on.
    Flooding {
        attempt: Attempt,
    },
    /// The agent itself names the conversation that it works in.
    ConversationNamed {
        attempt: Attempt,
        conversation: ConversationId,
    },
    PullLinked {
        pull: PullId,
    },
    PullUnlinked {
        pull: PullId,
    },
    Merged {
        pull: PullId,
    },
    // Requests of people and other parts.
    Send(NewMessage),
    /// An answer to the ask with that number, see [`Session::open_asks`](super::Session::open_asks).
    Answer {
        by: String,
        question: u32,
        text: String,
    },
    /// The news of this incident is outdated; messages that are not written yet are withdrawn.
    Withdraw {
        incident: IncidentKey,
    },
    Stop {
        by: String,
        why: String,
    },
    Pause {
        by: String,
    },
    Resume {
        limits: Option<SpendLimits>,
    },
    Retry,
    Restore,
    /// Like [`SessionInput::Restore`], in this runtime from now on.
    RestoreIn {
        runtime: String,
    },
    /// Its workspace may be removed, if nothing is lost by that.
    Cleanup,
    /// Its workspace is to be removed with the work in it; a rescue ref keeps the last state.
    Discard,
    /// The hooks that may object to its start do not.
    Clear,
    Hold {
        kind: HoldKind,
        why: String,
    },
    Release {
        kind: HoldKind,
    },
    // Consequences of other events.
    /// The provider's limit is over: it goes on after that long, and at most as much later again.
    LimitOver {
        after: Duration,
        within: Duration,
    },
    /// The running turn has to end now, because a budget is overdrawn.
    Halt {
        why: String,
    },
    Flush,
    /// Compare our own counts with the limits.
    Count,
    Due,
}

/// Event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    Queued {
        spec: Box<SessionSpec>,
    },
    Admitted {
        attempt: Attempt,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        ports: BTreeMap<String, u16>,
    },
    /// It exists. If it still has to be set up, the agent waits for that.
    WorkspaceReady {
        path: String,
        base: String,
        set_up: bool,
    },
    WorkspaceSetUp {},
    /// One of the project's own commands failed; a person has to look.
    SetupFailed {
        why: String,
    },
    WorkspaceFailed {
        why: String,
        again_at: Option<Timestamp>,
    },
    /// A launch was decided: with this conversation, new or resumed, with or without a first message.
    Launching {
        attempt: Attempt,
        conversation: ConversationId,
        resume: bool,
        delivery: Option<Box<Delivery>>,
    },
    LaunchFailed {
        why: String,
        again_at: Timestamp,
    },
    /// Another program listens on a port that it was given; it gets others.
    PortsLeased {
        ports: BTreeMap<String, u16>,
        refused: u16,
    },
    Launched {
        process: ProcessRef,
    },
    ConversationSeen {
        conversation: ConversationId,
    },
    ConversationGone {
        attempt: Attempt,
    },
    SignalSeen {
        signal: Signal,
    },
    /// Time alone has changed the judgement.
    Rejudged {},
    LookWanted {},
    /// The look is over; the events before this are what was seen.
    Looked {},
    LookFailed {
        why: String,
    },
    /// The agent works in another folder or on another branch than its own.
    Drifted {
        what: String,
    },
    DriftEnded {},
    /// Its workspace was removed by another program or person, and is created anew.
    TreeLost {
        path: String,
    },
    /// Its workspace is on another branch or commit than before.
    CheckoutChanged {
        checked_out: CheckedOut,
    },
    /// The agent asks, by an id of its own. Again for the same id, if it reports more details.
    Asked {
        open: OpenAsk,
    },
    /// An ask was answered elsewhere, or withdrawn.
    AskClosed {
        ask: AskId,
    },
    Answering {
        answer: DialogAnswer,
    },
    Answered {
        number: u32,
    },
    /// The dialog had changed, or could not be reached. Nothing was typed.
    NotAnswered {
        number: u32,
        why: String,
    },
    /// The running turn is to end, for this reason.
    Cancelling {
        cancel: TurnCancel,
    },
    TurnCancelled {
        number: u32,
        /// A turn was running, and is cut short.
        cut: bool,
    },
    Stopping {
        then: AfterStop,
    },
    StopWanted {
        outcome: SessionOutcome,
    },
    StopFailed {
        why: String,
        again_at: Timestamp,
    },
    Retrying {
        restarts: u32,
        at: Timestamp,
        why: String,
    },
    /// It has given its slot to another session.
    Rested {
        why: String,
    },
    Exited {
        code: Option<i32>,
        why: String,
    },
    Ended {
        outcome: SessionOutcome,
    },
    /// The delay before another try has passed.
    DelayOver {},
    /// Back in the queue: woken by a message, retried or restored by a person.
    Requeued {
        why: String,
        /// The runtime of its processes from now on, if it has changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<String>,
    },
    MessageQueued {
        message: Message,
        replaces: Option<u32>,
    },
    /// Outdated before it was sent.
    MessageWithdrawn {
        no: u32,
        incident: Option<IncidentKey>,
    },
    MessagesDropped {
        why: String,
    },
    DeliveryStarted {
        delivery: Box<Delivery>,
    },
    Written {
        delivery: u32,
        proof_by: Timestamp,
    },
    DeliveryPaused {
        delivery: u32,
        until: Timestamp,
        counts: bool,
        why: String,
    },
    DeliveryRetried {
        delivery: u32,
    },
    /// Proven by this turn of the agent.
    Accepted {
        delivery: u32,
        turn: String,
    },
    /// A late proof for messages that were already given up.
    TakenAfterAll {
        messages: Vec<u32>,
        turn: String,
    },
    DeliveryFailed {
        delivery: u32,
        why: String,
    },
    /// It has waited long enough for the sessions in its way.
    WaitedEnough {},
    /// The hooks that may object to its start were asked, and do not.
    Cleared {},
    Held {
        kind: HoldKind,
        why: String,
    },
    Released {
        kind: HoldKind,
    },
    /// The time at which it resumes after a provider's limit.
    ResumePlanned {
        at: Timestamp,
    },
    /// It has been idle for too long, with its work not done.
    Lingered {},
    Spent {
        spend: UsageTotal,
    },
    ToolDenied {
        call: String,
        tool: String,
    },
    /// The agent has written this to its user.
    Replied {
        text: String,
    },
    TurnEnded {
        end: TurnEnd,
    },
    PlanChanged {
        steps: Vec<PlanStep>,
    },
    BudgetMarked {
        mark: String,
    },
    LimitsSet {
        limits: SpendLimits,
    },
    PullLinked {
        pull: PullId,
    },
    PullUnlinked {
        pull: PullId,
    },
    RemovalWanted {
        /// Removes it even if it has unsaved work.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        discard: bool,
    },
    RemovalFailed {
        why: String,
        again_at: Timestamp,
    },
    WorkspaceRemoved {
        rescue: Option<String>,
    },
    WorkspaceKept {
        reasons: Vec<KeepReason>,
    },
    /// Leaves the memory, together with its finished pull requests and its closed task.
    Archived {
        pulls: BTreeSet<PullId>,
    },
}
