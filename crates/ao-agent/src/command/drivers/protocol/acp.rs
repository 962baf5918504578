//! The Agent Client Protocol: JSON-RPC 2.0, one message per line.
//!
//! ```text
//!  ── initialize, session/new (or session/load) ──►   ◄── sessionId ──
//!  ── session/prompt, _ao/taken ──►   ◄── error of _ao/taken: it has read the prompt ──
//!                                     ◄── session/update … ──
//!                                     ◄── session/request_permission ──
//!  ── outcome ──►                     ◄── result of session/prompt: stopReason ──
//! ```
//!
//! The protocol does not confirm a prompt before the turn is over. Messages are read in order, so an error for a request
//! that no agent knows, sent behind the prompt, is the proof that the prompt was read.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::agent_report::{AgentReport, CallState, ToolCall, TurnEnd};
use ao_core::ask::{AskDetail, AskOption, OptionKind};
use ao_core::evidence::Reading;
use ao_core::{AskId, ConversationId, Timestamp};
use ao_ports::{AnswerOrder, DeliverOrder};
use serde_json::{Value, json};

use super::details::{call_detail, call_details, micros, one_line, plan_steps, simple_diff};
use super::dialect::{
    Dialect, OPENING, Opening, ProtocolLaunch, ProtocolWrite, delivery_number, list, reply_number, text,
};
use crate::command::drivers::output::OutputItem;
use crate::command::{ANSWERS, CANCELS};
use crate::line::ProtocolLine;

/// The version of the protocol that we speak.
const VERSION: u32 = 1;
/// The ids of our requests in the opening.
const INITIALIZE: &str = "initialize";
const OPEN: &str = "open";
const CHOOSE: &str = "choose";
/// The codes of errors: an unknown method, and a login that is missing.
const UNKNOWN_METHOD: i64 = -32601;
const LOGIN_NEEDED: i64 = -32000;
/// Most bytes of a reply that comes in pieces.
const REPLY_MOST: usize = 16 * 1024;

/// Reads and writes the Agent Client Protocol.
pub(super) struct AcpDialect {
    launch: ProtocolLaunch,
    /// The abilities of the agent, once it has answered the first request.
    abilities: Option<Value>,
    opening: Opening,
    conversation: Option<String>,
    /// True until the first prompt was read: the agent may repeat the conversation that it loads, also after it has answered.
    replaying: bool,
    /// The delivery whose turn is running, and the last one whose turn is over.
    turn: Option<u32>,
    over: Option<u32>,
    cancelled: bool,
    taken: BTreeSet<u32>,
    rejected: BTreeMap<u32, u64>,
    asks: BTreeMap<AskId, Value>,
    refused: Vec<Value>,
    /// Cancelled requests for permission.
    withdrawn: Vec<Value>,
    reply: String,
    micros: Option<u64>,
    tokens: Option<u64>,
}

impl AcpDialect {
    pub(super) fn new(launch: ProtocolLaunch) -> AcpDialect {
        AcpDialect {
            launch,
            abilities: None,
            opening: Opening::Pending,
            conversation: None,
            replaying: false,
            turn: None,
            over: None,
            cancelled: false,
            taken: BTreeSet::new(),
            rejected: BTreeMap::new(),
            asks: BTreeMap::new(),
            refused: Vec::new(),
            withdrawn: Vec::new(),
            reply: String::new(),
            micros: None,
            tokens: None,
        }
    }

    /// Returns the request that opens the conversation. Loading repeats all of it, so resuming is preferred.
    fn open(&self, abilities: &Value) -> (&'static str, Value) {
        let mut params =
            json!({ "cwd": self.launch.path, "mcpServers": list(&self.launch.settings, "/mcpServers") });
        if !self.launch.resume {
            return ("session/new", params);
        }
        params["sessionId"] = self.launch.conversation.as_str().into();
        match abilities.pointer("/sessionCapabilities/resume").is_some_and(|it| !it.is_null()) {
            true => ("session/resume", params),
            false => ("session/load", params),
        }
    }

    /// Returns the requests that choose mode and model, in order.
    fn choices(&self) -> Vec<Value> {
        let id = self.conversation.as_deref().unwrap_or_default();
        let mode = text(&self.launch.settings, "/mode");
        let set =
            |at: usize, method: &str, params: Value| rpc_request(&format!("{CHOOSE}-{at}"), method, params);
        let mode = (!mode.is_empty())
            .then(|| set(0, "session/set_mode", json!({ "sessionId": id, "modeId": mode })));
        let model = self
            .launch
            .model
            .as_ref()
            .map(|model| set(1, "session/set_model", json!({ "sessionId": id, "modelId": model })));
        mode.into_iter().chain(model).collect()
    }

    fn response(&mut self, id: &str, message: &Value) -> Vec<OutputItem> {
        let failure = message.get("error").map(Failure::of);
        if let Some(delivery) = numbered(id, "taken-") {
            return self.takes(delivery);
        }
        if let Some(delivery) = numbered(id, "deliver-") {
            return self.over(delivery, &message["result"], failure);
        }
        match (id, failure) {
            (INITIALIZE, None) => {
                self.abilities = Some(message["result"]["agentCapabilities"].clone());
                self.replaying = self.launch.resume;
                vec![]
            }
            (INITIALIZE, Some(failure)) => {
                self.opening = Opening::Refused(failure.why.clone());
                vec![OutputItem::Failed(failure.why)]
            }
            (OPEN, None) => {
                let own = self.launch.conversation.as_str();
                let id = match text(message, "/result/sessionId") {
                    "" if self.launch.resume => own,
                    id => id,
                };
                let conversation = OutputItem::Conversation(ConversationId::new(id));
                self.conversation = Some(id.to_owned());
                self.opening = if self.choices().is_empty() { Opening::Ready } else { Opening::Pending };
                vec![conversation, OutputItem::Reading(Reading::Idle)]
            }
            (OPEN, Some(failure)) => {
                self.opening = Opening::Refused(failure.why.clone());
                if failure.logged_out {
                    return vec![OutputItem::Reading(Reading::LoggedOut)];
                }
                vec![if self.launch.resume { OutputItem::Gone } else { OutputItem::Failed(failure.why) }]
            }
            (id, failure) if id.starts_with(CHOOSE) => {
                if let Some(failure) = failure {
                    self.opening = Opening::Refused(failure.why.clone());
                    return vec![OutputItem::Failed(failure.why)];
                }
                let last = self.choices().pop();
                if last.is_some_and(|last| text(&last, "/id") == id) {
                    self.opening = Opening::Ready;
                }
                vec![]
            }
            _ => vec![],
        }
    }

    /// Takes note that a prompt was read.
    fn takes(&mut self, delivery: u32) -> Vec<OutputItem> {
        self.replaying = false;
        if !self.taken.insert(delivery) {
            return vec![];
        }
        // A prompt that was written by an earlier daemon.
        if self.over < Some(delivery) {
            self.turn = Some(delivery);
        }
        let taken = ProtocolLine::Taken { delivery: Some(delivery), text: String::new() };
        vec![OutputItem::Line(taken)]
    }

    /// Interprets the end of a turn.
    fn over(&mut self, delivery: u32, result: &Value, failure: Option<Failure>) -> Vec<OutputItem> {
        if self.turn.is_some_and(|turn| turn != delivery) {
            return vec![];
        }
        let mut items = self.words();
        if failure.is_none() {
            items.extend(self.takes(delivery));
        }
        items.extend(self.spend(result));
        let is_cut = std::mem::take(&mut self.cancelled);
        let (end, then) = match failure {
            Some(_) if is_cut => (TurnEnd::Cancelled {}, Reading::Idle),
            Some(Failure { logged_out: true, why, .. }) => (TurnEnd::Failed { why }, Reading::LoggedOut),
            Some(Failure { limited: true, .. }) => {
                (TurnEnd::Limited { until: None }, Reading::Limited { until: None })
            }
            Some(Failure { why, .. }) => (TurnEnd::Failed { why }, Reading::Idle),
            None => match text(result, "/stopReason") {
                "cancelled" => (TurnEnd::Cancelled {}, Reading::Idle),
                "refusal" => (TurnEnd::Failed { why: "the model refused".into() }, Reading::Idle),
                "max_tokens" => {
                    (TurnEnd::Failed { why: "the model reached its limit of tokens".into() }, Reading::Idle)
                }
                "max_turn_requests" => {
                    (TurnEnd::Failed { why: "the turn reached its limit of requests".into() }, Reading::Idle)
                }
                _ => (TurnEnd::Done {}, Reading::Idle),
            },
        };
        (self.turn, self.over) = (None, self.over.max(Some(delivery)));
        self.asks.clear();
        items.push(OutputItem::Ended { end, then });
        items
    }

    fn updated(&mut self, update: &Value) -> Vec<OutputItem> {
        let kind = text(update, "/sessionUpdate");
        if kind == "agent_message_chunk" {
            self.reply.push_str(text(update, "/content/text"));
            self.reply.truncate(self.reply.floor_char_boundary(REPLY_MOST));
            // Qwen Code adds the usage of a request to the end of its reply.
            return [Some(working()), self.spend(&update["_meta"])].into_iter().flatten().collect();
        }
        let mut items = match kind {
            "tool_call" | "tool_call_update" | "plan" => self.words(),
            _ => vec![],
        };
        match kind {
            "agent_thought_chunk" => items.push(working()),
            "tool_call" | "tool_call_update" => items.extend(called(update)),
            "plan" => {
                let steps = plan_steps(list(update, "/entries"), &["content", "text"]);
                items.push(OutputItem::Report(AgentReport::Plan { steps }));
            }
            "usage_update" if text(update, "/cost/currency") == "USD" => {
                self.micros = update.pointer("/cost/amount").and_then(Value::as_f64).and_then(micros);
                items.push(self.spent());
            }
            _ => {}
        }
        items
    }

    /// Returns the reply that came in pieces, once it is complete.
    fn words(&mut self) -> Vec<OutputItem> {
        let text = std::mem::take(&mut self.reply);
        match text.trim().is_empty() {
            true => vec![],
            false => vec![OutputItem::Report(AgentReport::Reply { text })],
        }
    }

    /// Adds the tokens of a turn, which agents report in different places.
    fn spend(&mut self, result: &Value) -> Option<OutputItem> {
        let count = |at: &str| result.pointer(at).and_then(Value::as_u64);
        let quota = "/_meta/quota/token_count";
        let of_quota =
            || Some(count(&format!("{quota}/input_tokens"))? + count(&format!("{quota}/output_tokens"))?);
        let more = count("/usage/totalTokens").or_else(of_quota)?;
        self.tokens = Some(self.tokens.unwrap_or_default().saturating_add(more));
        Some(self.spent())
    }

    fn spent(&self) -> OutputItem {
        let (micros, tokens) = (self.micros, self.tokens);
        OutputItem::Line(ProtocolLine::Spent { micros, tokens, turns: 0, seconds: 0 })
    }

    fn requested(&mut self, id: &Value, method: &str, params: &Value) -> Vec<OutputItem> {
        if method != "session/request_permission" {
            self.refused.push(id.clone());
            return vec![];
        }
        let call = &params["toolCall"];
        let option = |option: &Value| AskOption {
            id: text(option, "/optionId").to_owned(),
            label: text(option, "/name").to_owned(),
            kind: match text(option, "/kind") {
                "allow_once" => OptionKind::AllowOnce,
                "allow_always" => OptionKind::AllowAlways,
                "reject_once" => OptionKind::RejectOnce,
                "reject_always" => OptionKind::RejectAlways,
                _ => OptionKind::Other,
            },
        };
        let options = list(params, "/options").iter().map(option).collect();
        let ask = AskId::new(&format!("request {id}"));
        self.asks.insert(ask.clone(), id.clone());
        let question = match text(call, "/title") {
            "" => one_line(text(call, "/kind")),
            title => title.to_owned(),
        };
        let ask = Some(ask.as_str().to_owned());
        let mut items = self.words();
        items.push(OutputItem::Line(ProtocolLine::Asking { question, ask, details: details(call), options }));
        items
    }
}

impl Dialect for AcpDialect {
    fn read(&mut self, line: &str, _: Timestamp) -> Vec<OutputItem> {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return vec![] };
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(id)) => self.requested(id, method, &message["params"]),
            (Some("session/update"), None) if !self.replaying => {
                let id = text(&message, "/params/sessionId");
                if self.opening == Opening::Ready && self.conversation.is_none() {
                    self.conversation = Some(id.to_owned());
                }
                self.updated(&message["params"]["update"])
            }
            (None, Some(id)) => self.response(id.as_str().unwrap_or_default(), &message),
            _ => vec![],
        }
    }

    fn skip(&mut self) {
        self.abilities.get_or_insert_with(Value::default);
        self.replaying = false;
        self.opening = Opening::Ready;
        // The id of a new one was in the part that is missing; the next update has it.
        if self.launch.resume {
            self.conversation.get_or_insert_with(|| self.launch.conversation.as_str().to_owned());
        }
    }

    fn due(&self) -> Vec<ProtocolWrite> {
        let fs = json!({ "readTextFile": false, "writeTextFile": false });
        let hello = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": fs, "terminal": false },
            "clientInfo": { "name": "ao", "title": "ao", "version": env!("CARGO_PKG_VERSION") },
        });
        let mut messages = vec![rpc_request(INITIALIZE, "initialize", hello)];
        if let Some(abilities) = &self.abilities {
            let (method, params) = self.open(abilities);
            messages.push(rpc_request(OPEN, method, params));
        }
        if self.conversation.is_some() {
            messages.extend(self.choices());
        }
        let steps = (0..).zip(&messages);
        let mut writes: Vec<ProtocolWrite> =
            steps.map(|(step, message)| ProtocolWrite::new(OPENING | step, message)).collect();
        writes.extend(self.refused.iter().map(|id| {
            let error = json!({ "code": UNKNOWN_METHOD, "message": "not supported by this client" });
            ProtocolWrite::new(reply_number(id), &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }));
        writes.extend(self.withdrawn.iter().map(|id| {
            let result = json!({ "outcome": { "outcome": "cancelled" } });
            ProtocolWrite::new(reply_number(id), &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
        }));
        writes
    }

    fn opening(&self) -> Opening {
        self.opening.clone()
    }

    fn message(&mut self, order: &DeliverOrder) -> Vec<ProtocolWrite> {
        let delivery = order.delivery;
        let known = order.conversation.as_ref().map(|id| id.as_str().to_owned());
        let id = self.conversation.clone().or(known).unwrap_or_default();
        let step = self.rejected.get(&delivery).copied().unwrap_or_default() << 2;
        let mut writes = Vec::new();
        if order.interrupt && self.turn.is_some() {
            writes.extend(self.withdraw(&id, delivery_number(delivery, step | 1)));
        }
        self.turn = Some(delivery);
        let prompt = json!([{ "type": "text", "text": order.text }]);
        let prompt = json!({ "sessionId": id, "prompt": prompt });
        let message = rpc_request(&format!("deliver-{delivery}"), "session/prompt", prompt);
        writes.push(ProtocolWrite::new(delivery_number(delivery, step), &message));
        let proof = rpc_request(&format!("taken-{delivery}"), "_ao/taken", json!({}));
        writes.push(ProtocolWrite::new(delivery_number(delivery, step | 2), &proof));
        writes
    }

    fn answer(&mut self, ask: &AskId, order: &AnswerOrder) -> Option<ProtocolWrite> {
        let id = self.asks.remove(ask)?;
        let outcome = match &order.option {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        };
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } });
        Some(ProtocolWrite::new(ANSWERS | u64::from(order.number), &message))
    }

    fn cancel(&mut self, number: u32) -> Vec<ProtocolWrite> {
        match (self.turn, self.conversation.clone()) {
            (Some(_), Some(id)) => self.withdraw(&id, CANCELS | u64::from(number)),
            _ => vec![],
        }
    }
}

impl AcpDialect {
    /// Cancels the running turn. Its open requests have to be answered as cancelled.
    fn withdraw(&mut self, conversation: &str, number: u64) -> Vec<ProtocolWrite> {
        self.cancelled = true;
        self.withdrawn.extend(std::mem::take(&mut self.asks).into_values());
        let params = json!({ "sessionId": conversation });
        let message = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params });
        vec![ProtocolWrite::new(number, &message)]
    }
}

/// An error that the agent returned.
struct Failure {
    why: String,
    logged_out: bool,
    limited: bool,
}

impl Failure {
    fn of(error: &Value) -> Failure {
        let why = match (text(error, "/data/details"), text(error, "/message")) {
            ("", message) => message.to_owned(),
            (details, _) => details.to_owned(),
        };
        let code = error.get("code").and_then(Value::as_i64);
        let lower = why.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        Failure {
            logged_out: code == Some(LOGIN_NEEDED)
                || code == Some(401)
                || lower.starts_with("401 ")
                || has(&["authentication required"]),
            limited: code == Some(429) || lower.starts_with("429 ") || has(&["rate limit", "quota"]),
            why,
        }
    }
}

fn working() -> OutputItem {
    OutputItem::Reading(Reading::Working { doing: String::new() })
}

fn rpc_request(id: &str, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn numbered(id: &str, prefix: &str) -> Option<u32> {
    id.strip_prefix(prefix)?.parse().ok()
}

/// Interprets a tool call, or news of one.
fn called(update: &Value) -> Option<OutputItem> {
    let state = match text(update, "/status") {
        "completed" | "failed" => CallState::Ended,
        _ => CallState::Running,
    };
    let input = call_detail(&update["rawInput"]);
    let (title, kind) = (one_line(text(update, "/title")), text(update, "/kind").to_owned());
    let detail = if input.is_empty() { title } else { input };
    let id = text(update, "/toolCallId").to_owned();
    Some(OutputItem::Report(AgentReport::ToolCall(ToolCall { id, tool: kind, detail, state })))
}

/// Returns what a tool call would do.
fn details(call: &Value) -> Vec<AskDetail> {
    let mut details = call_details(text(call, "/kind"), &call["rawInput"]);
    let has_diff = details.iter().any(|detail| matches!(detail, AskDetail::Diff { .. }));
    let diffs = list(call, "/content").iter().filter(|part| text(part, "/type") == "diff" && !has_diff);
    details.extend(diffs.map(|part| AskDetail::Diff {
        path: text(part, "/path").to_owned(),
        diff: simple_diff(text(part, "/oldText"), text(part, "/newText")),
    }));
    let has_path = details.iter().any(|it| matches!(it, AskDetail::Diff { .. } | AskDetail::Path { .. }));
    let paths = list(call, "/locations").iter().filter(|_| !has_path);
    details.extend(paths.map(|it| AskDetail::Path { path: text(it, "/path").to_owned() }));
    details
}
