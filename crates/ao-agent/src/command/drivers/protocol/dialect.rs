//! A protocol as a state machine, without I/O.

use ao_core::{AskId, ConversationId, Timestamp};
use ao_ports::{AnswerOrder, DeliverOrder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::drivers::output::OutputItem;

/// The protocol of a program that stays between its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolProtocol")]
pub enum ProtocolKind {
    /// Claude Code's stream-json in both directions.
    Claude,
    /// `codex app-server`.
    Codex,
    /// The Agent Client Protocol.
    Acp,
}

/// The launch that a conversation by protocol begins with. Recorded before the process is started, so that the next daemon
/// can go on at any point of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::command) struct ProtocolLaunch {
    pub(in crate::command) kind: ProtocolKind,
    /// The folder of the workspace.
    pub(in crate::command) path: String,
    /// The conversation to resume, or the one to begin where the client may choose it.
    pub(in crate::command) conversation: ConversationId,
    pub(in crate::command) resume: bool,
    pub(in crate::command) model: Option<String>,
    /// Parameters of the opening request, such as the sandbox.
    pub(in crate::command) settings: Value,
}

/// A line for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command) struct ProtocolWrite {
    /// Unique within the process. The same number is always the same line, so it is written once.
    pub(in crate::command) number: u64,
    pub(in crate::command) line: String,
}

/// The progress of the opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command) enum Opening {
    /// Waits for the agent.
    Pending,
    /// Messages can be sent.
    Ready,
    /// The agent refuses, for this reason.
    Refused(String),
}

/// One protocol: interprets the lines of an agent, and formats those for it.
///
/// Its state follows from the agent's output and the launch alone, so it can be dropped and rebuilt at any byte.
pub(in crate::command) trait Dialect: Send {
    /// Interprets a line of the agent.
    fn read(&mut self, line: &str, now: Timestamp) -> Vec<OutputItem>;

    /// Takes note that output is missing before the next line.
    fn skip(&mut self);

    /// Returns the lines that the protocol itself requires now: the steps of the opening, and refusals of requests that only
    /// an editor could fulfil. They may have been written already.
    fn due(&self) -> Vec<ProtocolWrite>;

    fn opening(&self) -> Opening;

    /// Formats a message. `rejected` counts the earlier tries of this delivery that the agent refused.
    fn message(&mut self, order: &DeliverOrder) -> Vec<ProtocolWrite>;

    /// Formats the answer to an open ask, and the lines that it takes to make it valid.
    fn answer(&mut self, ask: &AskId, order: &AnswerOrder) -> Option<ProtocolWrite>;

    /// Formats the request to end the running turn; empty if none is running.
    fn cancel(&mut self, number: u32) -> Vec<ProtocolWrite>;
}

impl ProtocolWrite {
    pub(super) fn new(number: u64, message: &Value) -> ProtocolWrite {
        ProtocolWrite { number, line: format!("{message}\n") }
    }
}

/// Write numbers of the opening have this bit.
pub(super) const OPENING: u64 = 1 << 60;
/// The same for refusals of requests.
pub(super) const REFUSALS: u64 = 1 << 59;

/// Returns the write number of a delivery.
pub(super) fn delivery_number(delivery: u32, step: u64) -> u64 {
    u64::from(delivery) << 20 | step
}

/// Returns the write number for the reply to a request of the agent.
pub(super) fn reply_number(id: &Value) -> u64 {
    let hash = id.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    REFUSALS | hash >> 6
}

/// Returns the text at a JSON pointer, or an empty one.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the members at a JSON pointer, or none.
pub(super) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
