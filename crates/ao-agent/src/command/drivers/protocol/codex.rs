//! The protocol of `codex app-server`: JSON-RPC, one message per line, without its version key.
//!
//! ```text
//!  ── initialize, initialized, thread/start (or thread/resume) ──►   ◄── thread ──
//!  ── turn/start (clientUserMessageId) ──►   ◄── turn/started, item/started (userMessage, clientId) … turn/completed ──
//!                                            ◄── item/…/requestApproval ──
//!  ── decision ──►                           ◄── serverRequest/resolved ──
//! ```

use std::collections::{BTreeMap, BTreeSet};

use ao_core::agent_report::{AgentReport, CallState, ToolCall, TurnCause, TurnEnd};
use ao_core::ask::{AskDetail, AskOption, OptionKind};
use ao_core::evidence::Reading;
use ao_core::{AskId, ConversationId, SessionId, Timestamp};
use ao_ports::{AnswerOrder, DeliverOrder};
use serde_json::{Value, json};

use super::details::{call_details, one_line, plan_steps};
use super::dialect::{
    Dialect, OPENING, Opening, ProtocolLaunch, ProtocolWrite, delivery_number, list, reply_number, text,
};
use crate::command::drivers::output::OutputItem;
use crate::command::{ANSWERS, CANCELS};
use crate::line::ProtocolLine;

/// The ids of our requests in the opening.
const INITIALIZE: &str = "initialize";
const OPEN: &str = "open";
/// The code of an error for an unknown method.
const UNKNOWN_METHOD: i64 = -32601;

/// Reads and writes the protocol of Codex.
pub(super) struct CodexDialect {
    session: SessionId,
    launch: ProtocolLaunch,
    /// True once the agent has answered the first request.
    met: bool,
    opening: Opening,
    thread: Option<String>,
    /// The running turn, and the last one that is over.
    turn: Option<String>,
    over: Option<String>,
    cancelled: bool,
    /// The turns that a message of ours began, and those that were reported.
    known: BTreeSet<String>,
    /// The number of times that the agent has refused a delivery.
    rejected: BTreeMap<u32, u64>,
    asks: BTreeMap<AskId, OpenRequest>,
    /// Requests that only an editor could fulfil, and that were not refused yet.
    refused: Vec<Value>,
    /// The limit that it has reported for the running turn.
    limited: Option<Option<Timestamp>>,
    logged_out: bool,
    tokens: u64,
}

/// An open request for an approval or an answer.
struct OpenRequest {
    id: Value,
    /// The ids of the questions, if it asks any.
    questions: Vec<String>,
}

impl CodexDialect {
    pub(super) fn new(session: SessionId, launch: ProtocolLaunch) -> CodexDialect {
        CodexDialect {
            session,
            launch,
            met: false,
            opening: Opening::Pending,
            thread: None,
            turn: None,
            over: None,
            cancelled: false,
            known: BTreeSet::new(),
            rejected: BTreeMap::new(),
            asks: BTreeMap::new(),
            refused: Vec::new(),
            limited: None,
            logged_out: false,
            tokens: 0,
        }
    }

    fn response(&mut self, id: &str, message: &Value) -> Vec<OutputItem> {
        let error = message.get("error").map(|error| text(error, "/message").to_owned());
        match (id, error) {
            (INITIALIZE, None) => self.met = true,
            // An earlier daemon has begun with it.
            (INITIALIZE, Some(why)) if why.contains("Already initialized") => self.met = true,
            (OPEN, None) => {
                self.opening = Opening::Ready;
                let mut items = self.thread(text(message, "/result/thread/id"));
                items.push(OutputItem::Reading(Reading::Idle));
                return items;
            }
            (OPEN, Some(why)) => {
                self.opening = Opening::Refused(why.clone());
                let is_gone = self.launch.resume && why.contains("no rollout found");
                return vec![if is_gone { OutputItem::Gone } else { OutputItem::Failed(why) }];
            }
            (INITIALIZE, Some(why)) => self.opening = Opening::Refused(why),
            (id, Some(why)) => {
                if let Some(delivery) = id.strip_prefix("deliver-").and_then(|no| no.parse().ok()) {
                    *self.rejected.entry(delivery).or_default() += 1;
                    return vec![OutputItem::Failed(why)];
                }
            }
            (id, None) if id.starts_with("deliver-") => {
                let turn = text(message, "/result/turn/id");
                if self.over.as_deref() != Some(turn) && !turn.is_empty() {
                    self.turn = Some(turn.to_owned());
                }
            }
            (_, None) => {}
        }
        vec![]
    }

    fn thread(&mut self, id: &str) -> Vec<OutputItem> {
        if id.is_empty() || self.thread.as_deref() == Some(id) {
            return vec![];
        }
        self.thread = Some(id.to_owned());
        vec![OutputItem::Conversation(ConversationId::new(id))]
    }

    /// Returns true if a notification is about another thread, such as that of a subagent.
    fn is_foreign(&self, params: &Value) -> bool {
        let thread = text(params, "/threadId");
        !thread.is_empty() && self.thread.as_deref().is_some_and(|own| own != thread)
    }

    fn notified(&mut self, method: &str, params: &Value) -> Vec<OutputItem> {
        match method {
            "thread/started" if self.thread.is_none() => self.thread(text(params, "/thread/id")),
            _ if self.is_foreign(params) => vec![],
            "turn/started" => {
                self.thread.get_or_insert_with(|| text(params, "/threadId").to_owned());
                self.turn = Some(text(params, "/turn/id").to_owned());
                vec![working(String::new())]
            }
            "item/started" => self.item(params, false),
            "item/completed" => self.item(params, true),
            "turn/plan/updated" => {
                let steps = plan_steps(list(params, "/plan"), &["step", "text"]);
                vec![OutputItem::Report(AgentReport::Plan { steps })]
            }
            "thread/tokenUsage/updated" => {
                // The total goes on over a resume; the last request is always of this process.
                let last = params.pointer("/tokenUsage/last/totalTokens").and_then(Value::as_u64);
                self.tokens = self.tokens.saturating_add(last.unwrap_or_default());
                let tokens = Some(self.tokens);
                vec![OutputItem::Line(ProtocolLine::Spent { micros: None, tokens, turns: 0, seconds: 0 })]
            }
            "account/rateLimits/updated" => self.limits(&params["rateLimits"]),
            "error" => self.failing(params),
            "serverRequest/resolved" => {
                let id = &params["requestId"];
                let ask = self.asks.iter().find(|(_, open)| open.id == *id).map(|(ask, _)| ask.clone());
                ask.map(|ask| self.closed(&ask)).unwrap_or_default()
            }
            "turn/completed" => self.ended(params),
            _ => vec![],
        }
    }

    /// Interprets the beginning or the end of an item.
    fn item(&mut self, params: &Value, is_over: bool) -> Vec<OutputItem> {
        let item = &params["item"];
        let id = text(item, "/id").to_owned();
        let call = |tool: &str, detail: String| {
            let state = match (is_over, text(item, "/status")) {
                (true, "declined") => CallState::Denied,
                (true, _) => CallState::Ended,
                (false, _) => CallState::Running,
            };
            let (id, tool) = (id.clone(), tool.to_owned());
            vec![OutputItem::Report(AgentReport::ToolCall(ToolCall { id, tool, detail, state }))]
        };
        match text(item, "/type") {
            "userMessage" if !is_over => self.taken(params, item),
            "agentMessage" if is_over => {
                let text = text(item, "/text").to_owned();
                vec![OutputItem::Report(AgentReport::Reply { text })]
            }
            "commandExecution" => call("", one_line(&shell_command(item))),
            "fileChange" => {
                let paths: Vec<&str> = list(item, "/changes").iter().map(|it| text(it, "/path")).collect();
                call("changes", one_line(&paths.join(" ")))
            }
            "mcpToolCall" => call(text(item, "/server"), one_line(text(item, "/tool"))),
            "webSearch" => call("searches", one_line(text(item, "/query"))),
            "collabToolCall" | "subAgentActivity" => call("subagent", one_line(text(item, "/tool"))),
            _ => vec![],
        }
    }

    fn taken(&mut self, params: &Value, item: &Value) -> Vec<OutputItem> {
        let turn = text(params, "/turnId").to_owned();
        match delivery_of(self.session, text(item, "/clientId")) {
            Some(delivery) => {
                let parts: Vec<&str> =
                    list(item, "/content").iter().map(|part| text(part, "/text")).collect();
                let text = parts.join("\n");
                self.known.insert(turn);
                vec![OutputItem::Line(ProtocolLine::Taken { delivery: Some(delivery), text })]
            }
            None if self.known.insert(turn.clone()) => {
                let cause = TurnCause::Agent {};
                vec![OutputItem::Report(AgentReport::TurnBegan { turn, cause })]
            }
            None => vec![],
        }
    }

    fn limits(&mut self, limits: &Value) -> Vec<OutputItem> {
        if limits.get("rateLimitReachedType").is_none_or(Value::is_null) {
            return vec![];
        }
        let resets = ["/primary/resetsAt", "/secondary/resetsAt"];
        let seconds = resets.iter().filter_map(|at| limits.pointer(at).and_then(Value::as_i64)).max();
        let until = seconds.map(|seconds| Timestamp(seconds.saturating_mul(1000)));
        self.limited = Some(until);
        vec![OutputItem::Reading(Reading::Limited { until })]
    }

    /// Interprets an error of the running turn, after which it may try again.
    fn failing(&mut self, params: &Value) -> Vec<OutputItem> {
        let info = params.pointer("/error/codexErrorInfo").cloned().unwrap_or_default();
        let status = info.as_object().and_then(|info| info.values().next()?.get("httpStatusCode")?.as_i64());
        let why = text(params, "/error/message");
        if info == "usageLimitExceeded" {
            let until = self.limited.flatten();
            self.limited = Some(until);
            return vec![OutputItem::Reading(Reading::Limited { until })];
        }
        if info == "unauthorized" || status == Some(401) {
            self.logged_out = true;
            return vec![OutputItem::Reading(Reading::LoggedOut)];
        }
        if params.get("willRetry").and_then(Value::as_bool) != Some(true) {
            return vec![OutputItem::Failed(why.to_owned())];
        }
        vec![working(match status {
            Some(status) => format!("tries the provider again after HTTP {status}"),
            None => format!("tries the provider again: {}", one_line(why)),
        })]
    }

    fn ended(&mut self, params: &Value) -> Vec<OutputItem> {
        self.turn = None;
        self.over = Some(text(params, "/turn/id").to_owned());
        self.asks.clear();
        let why = || text(params, "/turn/error/message").to_owned();
        let limited = self.limited.take();
        let logged_out = std::mem::take(&mut self.logged_out);
        let cancelled = std::mem::take(&mut self.cancelled);
        let (end, then) = match (text(params, "/turn/status"), limited) {
            ("interrupted", _) => (TurnEnd::Cancelled {}, Reading::Idle),
            ("failed", Some(until)) => (TurnEnd::Limited { until }, Reading::Limited { until }),
            ("failed", None)
                if params.pointer("/turn/error/codexErrorInfo") == Some(&json!("usageLimitExceeded")) =>
            {
                (TurnEnd::Limited { until: None }, Reading::Limited { until: None })
            }
            ("failed", None) if logged_out => (TurnEnd::Failed { why: why() }, Reading::LoggedOut),
            ("failed", None) if cancelled => (TurnEnd::Cancelled {}, Reading::Idle),
            ("failed", None) => (TurnEnd::Failed { why: why() }, Reading::Idle),
            _ => (TurnEnd::Done {}, Reading::Idle),
        };
        vec![OutputItem::Ended { end, then }]
    }

    fn requested(&mut self, id: &Value, method: &str, params: &Value) -> Vec<OutputItem> {
        let ask = AskId::new(&format!("request {id}"));
        let decisions = list(params, "/availableDecisions");
        let (question, details, options, questions) = match method {
            "item/commandExecution/requestApproval" => {
                let command = shell_command(params);
                let mut details = vec![AskDetail::Command { command: command.clone() }];
                details.extend(path(text(params, "/cwd")));
                (with_reason(&command, params), details, approvals(decisions), vec![])
            }
            "item/fileChange/requestApproval" => {
                let details = path(text(params, "/grantRoot")).into_iter().collect();
                (with_reason("change files", params), details, approvals(decisions), vec![])
            }
            "item/permissions/requestApproval" => {
                let details = call_details("", &params["permissions"]);
                (with_reason("get more permissions", params), details, approvals(decisions), vec![])
            }
            "item/tool/requestUserInput" => {
                let questions = list(params, "/questions");
                let titles: Vec<&str> = questions.iter().map(|it| text(it, "/question")).collect();
                let options = match questions {
                    [only] => list(only, "/options").iter().map(labelled).collect(),
                    _ => vec![],
                };
                let ids = questions.iter().map(|it| text(it, "/id").to_owned()).collect();
                (titles.join("\n"), vec![], options, ids)
            }
            _ => {
                self.refused.push(id.clone());
                return vec![];
            }
        };
        self.asks.insert(ask.clone(), OpenRequest { id: id.clone(), questions });
        let ask = Some(ask.as_str().to_owned());
        vec![OutputItem::Line(ProtocolLine::Asking { question, ask, details, options })]
    }

    fn closed(&mut self, ask: &AskId) -> Vec<OutputItem> {
        match self.asks.remove(ask) {
            Some(_) => vec![OutputItem::Line(ProtocolLine::AskClosed { ask: ask.as_str().to_owned() })],
            None => vec![],
        }
    }
}

impl Dialect for CodexDialect {
    fn read(&mut self, line: &str, _: Timestamp) -> Vec<OutputItem> {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return vec![] };
        let params = message.get("params").cloned().unwrap_or_default();
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(id)) => self.requested(id, method, &params),
            (Some(method), None) => self.notified(method, &params),
            (None, Some(id)) => self.response(id.as_str().unwrap_or_default(), &message),
            (None, None) => vec![],
        }
    }

    fn skip(&mut self) {
        self.met = true;
        self.opening = Opening::Ready;
        // The id of a new one was in the part that is missing; its next turn has it.
        if self.launch.resume {
            self.thread.get_or_insert_with(|| self.launch.conversation.as_str().to_owned());
        }
    }

    fn due(&self) -> Vec<ProtocolWrite> {
        let info = json!({ "name": "ao", "title": "ao", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "clientInfo": info, "capabilities": { "experimentalApi": true } });
        let mut writes = vec![ProtocolWrite::new(OPENING, &request(INITIALIZE, "initialize", hello))];
        if self.met {
            writes.push(ProtocolWrite::new(OPENING | 1, &json!({ "method": "initialized" })));
            let mut params = self.launch.settings.clone();
            if !params.is_object() {
                params = json!({});
            }
            params["cwd"] = self.launch.path.as_str().into();
            if let Some(model) = &self.launch.model {
                params["model"] = model.as_str().into();
            }
            let method = match self.launch.resume {
                true => {
                    params["threadId"] = self.launch.conversation.as_str().into();
                    "thread/resume"
                }
                false => "thread/start",
            };
            writes.push(ProtocolWrite::new(OPENING | 2, &request(OPEN, method, params)));
        }
        writes.extend(self.refused.iter().map(|id| {
            let error = json!({ "code": UNKNOWN_METHOD, "message": "not supported by this client" });
            ProtocolWrite::new(reply_number(id), &json!({ "id": id, "error": error }))
        }));
        writes
    }

    fn opening(&self) -> Opening {
        self.opening.clone()
    }

    fn message(&mut self, order: &DeliverOrder) -> Vec<ProtocolWrite> {
        let delivery = order.delivery;
        let known = order.conversation.as_ref().map(|id| id.as_str().to_owned());
        let thread = self.thread.clone().or(known).unwrap_or_default();
        let step = self.rejected.get(&delivery).copied().unwrap_or_default() << 1;
        let mut params = json!({
            "threadId": thread,
            "clientUserMessageId": message_id(self.session, delivery),
            "input": [{ "type": "text", "text": order.text }],
        });
        let method = match (&self.turn, order.interrupt) {
            (Some(turn), true) => {
                params["expectedTurnId"] = turn.as_str().into();
                "turn/steer"
            }
            _ => "turn/start",
        };
        let message = request(&format!("deliver-{delivery}"), method, params);
        vec![ProtocolWrite::new(delivery_number(delivery, step), &message)]
    }

    fn answer(&mut self, ask: &AskId, order: &AnswerOrder) -> Option<ProtocolWrite> {
        let open = self.asks.remove(ask)?;
        let answer = order.option.as_deref().unwrap_or(&order.text);
        let result = if open.questions.is_empty() {
            let decision = match &order.option {
                // A decision with arguments is its own id.
                Some(option) if option.starts_with('{') => serde_json::from_str(option).unwrap_or_default(),
                Some(option) => Value::from(option.as_str()),
                None => "decline".into(),
            };
            json!({ "decision": decision })
        } else {
            let answer = |id: &String| (id.clone(), json!({ "answers": [answer] }));
            json!({ "answers": open.questions.iter().map(answer).collect::<serde_json::Map<_, _>>() })
        };
        let message = json!({ "id": open.id, "result": result });
        Some(ProtocolWrite::new(ANSWERS | u64::from(order.number), &message))
    }

    fn cancel(&mut self, number: u32) -> Vec<ProtocolWrite> {
        let (Some(thread), Some(turn)) = (&self.thread, &self.turn) else { return vec![] };
        self.cancelled = true;
        let params = json!({ "threadId": thread, "turnId": turn });
        let message = request(&format!("cancel-{number}"), "turn/interrupt", params);
        vec![ProtocolWrite::new(CANCELS | u64::from(number), &message)]
    }
}

fn working(doing: String) -> OutputItem {
    OutputItem::Reading(Reading::Working { doing })
}

fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "id": id, "method": method, "params": params })
}

/// Returns the command of a call, without the shell that runs it.
fn shell_command(call: &Value) -> String {
    let inner: Vec<&str> = list(call, "/commandActions").iter().map(|it| text(it, "/command")).collect();
    match inner.iter().all(|command| command.is_empty()) {
        true => text(call, "/command").to_owned(),
        false => inner.join(" && "),
    }
}

fn with_reason(what: &str, params: &Value) -> String {
    match text(params, "/reason") {
        "" => what.to_owned(),
        reason => format!("{what} ({reason})"),
    }
}

fn path(path: &str) -> Option<AskDetail> {
    (!path.is_empty()).then(|| AskDetail::Path { path: path.to_owned() })
}

fn labelled(option: &Value) -> AskOption {
    let label = text(option, "/label").to_owned();
    AskOption { id: label.clone(), label, kind: OptionKind::Other }
}

/// Returns the decisions on an approval that Codex offers, or those that it always takes.
fn approvals(decisions: &[Value]) -> Vec<AskOption> {
    let always = [json!("accept"), json!("acceptForSession"), json!("decline")];
    let mut decisions = if decisions.is_empty() { always.to_vec() } else { decisions.to_vec() };
    // It takes this one also where it does not offer it: the turn goes on without the command.
    if !decisions.contains(&json!("decline")) {
        let at = decisions.iter().position(|decision| *decision == "cancel").unwrap_or(decisions.len());
        decisions.insert(at, json!("decline"));
    }
    let option = |decision: &Value| {
        let (id, name) = match decision {
            Value::String(name) => (name.clone(), name.as_str()),
            Value::Object(it) => (decision.to_string(), it.keys().next()?.as_str()),
            _ => return None,
        };
        let (label, kind) = match name {
            "accept" => ("Yes", OptionKind::AllowOnce),
            "acceptForSession" => ("Yes, for this session", OptionKind::AllowAlways),
            "acceptWithExecpolicyAmendment" => {
                ("Yes, and do not ask again for commands like this", OptionKind::AllowAlways)
            }
            "applyNetworkPolicyAmendment" => ("Yes, and allow this host", OptionKind::AllowAlways),
            "decline" => ("No", OptionKind::RejectOnce),
            "cancel" => ("No, and end the turn", OptionKind::RejectOnce),
            _ => (name, OptionKind::Other),
        };
        Some(AskOption { id, label: label.to_owned(), kind })
    };
    decisions.iter().filter_map(option).collect()
}

/// Returns the id of a message, by which Codex repeats it to us.
fn message_id(session: SessionId, delivery: u32) -> String {
    format!("ao-{session}-{delivery}")
}

fn delivery_of(session: SessionId, id: &str) -> Option<u32> {
    id.strip_prefix(&format!("ao-{session}-"))?.parse().ok()
}
