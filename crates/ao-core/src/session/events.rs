//! Inputs and events of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AfterStop, CheckedOut, Delivery, DialogAnswer, DialogSubject, HoldKind, Message, NewMessage, ProcessRef,
    SessionOutcome, SessionSpec, TurnCancel,
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
    /// The workspace was created.
    WorkspaceReady {
        attempt: Attempt,
        path: String,
        base: String,
        /// It existed before, and is used as it is.
        as_found: bool,
    },
    /// The workspace was set up.
    SetUp { attempt: Attempt },
    /// One of the project's own commands failed. An automatic retry would only fail again.
    SetupFailed { attempt: Attempt, why: String },
    /// Nothing was started, because another program listens on one of its ports.
    PortTaken { attempt: Attempt, port: u16 },
    /// The process was started.
    Launched { attempt: Attempt, process: ProcessRef, conversation: Option<ConversationId> },
    /// The agent has nothing to resume: it starts once afresh with the task.
    ConversationGone { attempt: Attempt },
    /// A delivery was written.
    Written { attempt: Attempt, delivery: u32, tries: u32 },
    /// A dialog or a person's draft was in the way at the last moment; nothing was typed.
    NotWritten { attempt: Attempt, delivery: u32, tries: u32, why: String },
    /// The agent was looked at.
    Looked { attempt: Attempt, signals: Vec<Signal> },
    /// The drift of the workspace, if there is any.
    Drift { attempt: Attempt, drift: Option<String> },
    /// Branch and head that are checked out in its workspace now.
    CheckedOut { checked_out: CheckedOut },
    /// There is no workspace to start its process in: it was removed by another program or person.
    TreeGone { attempt: Attempt, path: String },
    /// The answer was given.
    Answered { attempt: Attempt, number: u32 },
    /// The answer could not be given.
    NotAnswered { attempt: Attempt, number: u32, why: String },
    /// A cancellation has ended. `cut` if a turn was running, which is cut short.
    TurnCancelled { attempt: Attempt, number: u32, cut: bool },
    /// The process of the attempt has certainly ended.
    ProcessEnded { attempt: Attempt },
    /// The workspace is gone.
    WorkspaceRemoved { tries: u32, rescue: Option<String> },
    /// The gate refuses to remove the workspace.
    WorkspaceKept { tries: u32, reasons: Vec<KeepReason> },
    /// An effect failed.
    Failed { effect: EffectKey, why: String },
    // Observations.
    /// A signal of the agent.
    Signal(Signal),
    /// A report of the agent, by its hook, transcript or protocol.
    Reported { attempt: Attempt, source: SignalSource, at: Timestamp, report: AgentReport },
    /// The agent reports faster than its reports are of use, and only the latest is passed on.
    Flooding { attempt: Attempt },
    /// The agent itself names the conversation that it works in.
    ConversationNamed { attempt: Attempt, conversation: ConversationId },
    /// It has become the owner of a pull request.
    PullLinked { pull: PullId },
    /// It is not the owner of a pull request any more.
    PullUnlinked { pull: PullId },
    /// Its change was merged.
    Merged { pull: PullId },
    // Requests of people and other parts.
    /// A message for the agent.
    Send(NewMessage),
    /// An answer to the ask with that number, see [`Session::open_asks`](super::Session::open_asks).
    Answer { by: String, question: u32, text: String },
    /// The news of this incident is outdated; messages that are not written yet are withdrawn.
    Withdraw { incident: IncidentKey },
    /// Ends the session.
    Stop { by: String, why: String },
    /// A person holds it.
    Pause { by: String },
    /// A person ends its holds, with new limits if there are any.
    Resume { limits: Option<SpendLimits> },
    /// Starts again after a failed set-up or an exit.
    Retry,
    /// Starts again, even after its end.
    Restore,
    /// Like [`SessionInput::Restore`], in this runtime from now on.
    RestoreIn { runtime: String },
    /// Its workspace may be removed, if nothing is lost by that.
    Cleanup,
    /// Its workspace is to be removed with the work in it; a rescue ref keeps the last state.
    Discard,
    /// The hooks that may object to its start do not.
    Clear,
    /// It gets no further turn, for this reason.
    Hold { kind: HoldKind, why: String },
    /// A reason not to continue is gone.
    Release { kind: HoldKind },
    // Consequences of other events.
    /// The provider's limit is over: it goes on after that long, and at most as much later again.
    LimitOver { after: Duration, within: Duration },
    /// The running turn has to end now, because a budget is overdrawn.
    Halt { why: String },
    /// Messages may be deliverable now.
    Flush,
    /// Compare our own counts with the limits.
    Count,
    /// A timer is due.
    Due,
}

/// Event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    /// It was made, and waits for a slot.
    Queued { spec: Box<SessionSpec> },
    /// It has got a slot, and these ports.
    Admitted {
        attempt: Attempt,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        ports: BTreeMap<String, u16>,
    },
    /// It exists. If it still has to be set up, the agent waits for that.
    WorkspaceReady { path: String, base: String, set_up: bool },
    /// The workspace is set up.
    WorkspaceSetUp {},
    /// One of the project's own commands failed; a person has to look.
    SetupFailed { why: String },
    /// The workspace could not be created or set up.
    WorkspaceFailed { why: String, again_at: Option<Timestamp> },
    /// A launch was decided: with this conversation, new or resumed, with or without a first message.
    Launching {
        attempt: Attempt,
        conversation: ConversationId,
        resume: bool,
        delivery: Option<Box<Delivery>>,
    },
    /// The process could not be started.
    LaunchFailed { why: String, again_at: Timestamp },
    /// Another program listens on a port that it was given; it gets others.
    PortsLeased { ports: BTreeMap<String, u16>, refused: u16 },
    /// The process was started.
    Launched { process: ProcessRef },
    /// The agent works in this conversation.
    ConversationSeen { conversation: ConversationId },
    /// The conversation to resume does not exist.
    ConversationGone { attempt: Attempt },
    /// A signal of the agent.
    SignalSeen { signal: Signal },
    /// Time alone has changed the judgement.
    Rejudged {},
    /// The agent is to be looked at.
    LookWanted {},
    /// The look is over; the events before this are what was seen.
    Looked {},
    /// The agent could not be looked at.
    LookFailed { why: String },
    /// The agent works in another folder or on another branch than its own.
    Drifted { what: String },
    /// The agent is in its own folder and on its own branch again.
    DriftEnded {},
    /// Its workspace was removed by another program or person, and is created anew.
    TreeLost { path: String },
    /// Its workspace is on another branch or commit than before.
    CheckoutChanged { checked_out: CheckedOut },
    /// The agent asks, by an id of its own. Again for the same id, if it reports more details.
    Asked { open: OpenAsk },
    /// An ask was answered elsewhere, or withdrawn.
    AskClosed { ask: AskId },
    /// A hook has reported the subject of the dialog that is open, or will be in a moment.
    DialogDescribed { subject: DialogSubject },
    /// A person's answer is to be given.
    Answering { answer: DialogAnswer },
    /// The answer was given.
    Answered { number: u32 },
    /// The dialog had changed, or could not be reached. Nothing was typed.
    NotAnswered { number: u32, why: String },
    /// The running turn is to end, for this reason.
    Cancelling { cancel: TurnCancel },
    /// A cancellation has ended. `cut` if a turn was running, which is cut short.
    TurnCancelled { number: u32, cut: bool },
    /// Its process is to be ended.
    Stopping { then: AfterStop },
    /// It ends once the present step is done.
    StopWanted { outcome: SessionOutcome },
    /// The process could not be ended.
    StopFailed { why: String, again_at: Timestamp },
    /// It starts again at that time.
    Retrying { restarts: u32, at: Timestamp, why: String },
    /// It has given its slot to another session.
    Rested { why: String },
    /// Its process has ended.
    Exited { code: Option<i32>, why: String },
    /// It has ended.
    Ended { outcome: SessionOutcome },
    /// The delay before another try has passed.
    DelayOver {},
    /// Back in the queue: woken by a message, retried or restored by a person.
    Requeued {
        why: String,
        /// The runtime of its processes from now on, if it has changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<String>,
    },
    /// A message waits, instead of an older one if that is outdated.
    MessageQueued { message: Message, replaces: Option<u32> },
    /// Outdated before it was sent.
    MessageWithdrawn { no: u32, incident: Option<IncidentKey> },
    /// All messages were given up.
    MessagesDropped { why: String },
    /// Messages are being delivered.
    DeliveryStarted { delivery: Box<Delivery> },
    /// The delivery was written; a proof is due by then.
    Written { delivery: u32, proof_by: Timestamp },
    /// The delivery is tried again at that time.
    DeliveryPaused { delivery: u32, until: Timestamp, counts: bool, why: String },
    /// The delivery is tried again.
    DeliveryRetried { delivery: u32 },
    /// Proven by this turn of the agent.
    Accepted { delivery: u32, turn: String },
    /// A late proof for messages that were already given up.
    TakenAfterAll { messages: Vec<u32>, turn: String },
    /// The delivery was given up.
    DeliveryFailed { delivery: u32, why: String },
    /// It has waited long enough for the sessions in its way.
    WaitedEnough {},
    /// The hooks that may object to its start were asked, and do not.
    Cleared {},
    /// It gets no further turn, for this reason.
    Held { kind: HoldKind, why: String },
    /// A reason not to continue is gone.
    Released { kind: HoldKind },
    /// The time at which it resumes after a provider's limit.
    ResumePlanned { at: Timestamp },
    /// It has been idle for too long, with its work not done.
    Lingered {},
    /// The agent has used up this much.
    Spent { spend: UsageTotal },
    /// The agent was not allowed to make a tool call.
    ToolDenied { call: String, tool: String },
    /// The agent has written this to its user.
    Replied { text: String },
    /// A turn of the agent has ended.
    TurnEnded { end: TurnEnd },
    /// The agent has another plan.
    PlanChanged { steps: Vec<PlanStep> },
    /// The soft mark of its budget is reached.
    BudgetMarked { mark: String },
    /// A person has set other limits.
    LimitsSet { limits: SpendLimits },
    /// It has become the owner of a pull request.
    PullLinked { pull: PullId },
    /// It is not the owner of a pull request any more.
    PullUnlinked { pull: PullId },
    /// Its workspace is to be removed; with `discard`, even if it has unsaved work.
    RemovalWanted {
        /// Removes it even if it has unsaved work.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        discard: bool,
    },
    /// The workspace could not be removed.
    RemovalFailed { why: String, again_at: Timestamp },
    /// The workspace is gone.
    WorkspaceRemoved { rescue: Option<String> },
    /// The gate refuses to remove the workspace.
    WorkspaceKept { reasons: Vec<KeepReason> },
    /// Leaves the memory, together with its finished pull requests and its closed task.
    Archived { pulls: BTreeSet<PullId> },
}
