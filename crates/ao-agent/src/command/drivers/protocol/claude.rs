//! Claude Code's stream-json in both directions.
//!
//! ```text
//!  ── initialize ──►            ◄── control_response ──
//!  ── user (uuid) ──►           ◄── command_lifecycle, system/init, assistant, user (results of tools) … result ──
//!                               ◄── can_use_tool ──
//!  ── control_response ──►
//!  ── interrupt ──►             ◄── result ──
//! ```
//!
//! The id of a message is made from its delivery. Claude takes one id once, also in a later process of the conversation.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::agent_report::{AgentReport, CallState, ToolCall, TurnCause, TurnEnd};
use ao_core::ask::{AskOption, OptionKind};
use ao_core::evidence::Reading;
use ao_core::{AskId, ConversationId, SessionId, Timestamp};
use ao_ports::{AnswerOrder, DeliverOrder};
use serde_json::{Value, json};

use super::details::{call_detail, call_details, micros, one_line, plan_steps};
use super::dialect::{Dialect, OPENING, Opening, ProtocolWrite, delivery_number, list, text};
use crate::command::drivers::output::OutputItem;
use crate::command::{ANSWERS, CANCELS};
use crate::line::ProtocolLine;

/// The id of the first request.
const OPEN: &str = "open";
/// The tool by which Claude asks its user.
const QUESTION_TOOL: &str = "AskUserQuestion";
/// The ids of the answers to a permission.
const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const DENY: &str = "deny";

/// Reads and writes Claude Code's stream-json.
pub(super) struct ClaudeDialect {
    session: SessionId,
    opening: Opening,
    running: bool,
    /// The deliveries that began a turn of this process.
    started: BTreeSet<u32>,
    cancelled: bool,
    /// The tasks that run in the background.
    background: usize,
    /// The end of the provider's limit, while it lasts.
    limited: Option<Option<Timestamp>>,
    asks: BTreeMap<AskId, OpenRequest>,
    spent: Spent,
}

/// An open request for a permission.
struct OpenRequest {
    /// The arguments of the tool, for a question, whose answer repeats them.
    questions: Option<Value>,
    /// The rules that would allow it for good.
    suggestions: Value,
}

/// The counters of this process.
#[derive(Default)]
struct Spent {
    micros: Option<u64>,
    tokens: u64,
}

impl ClaudeDialect {
    pub(super) fn new(session: SessionId) -> ClaudeDialect {
        ClaudeDialect {
            session,
            opening: Opening::Pending,
            running: false,
            started: BTreeSet::new(),
            cancelled: false,
            background: 0,
            limited: None,
            asks: BTreeMap::new(),
            spent: Spent::default(),
        }
    }

    /// Interprets the progress of a message of ours. Its text follows, perhaps only when the provider has answered.
    fn lifecycle(&mut self, delivery: u32, state: &str) -> Vec<OutputItem> {
        let taken = ProtocolLine::Taken { delivery: Some(delivery), text: String::new() };
        match state {
            "started" => {
                self.running = true;
                self.started.insert(delivery);
                vec![OutputItem::Line(taken)]
            }
            // An earlier process has taken it, so there is no turn for it.
            "completed" if !self.started.contains(&delivery) => {
                let rests = (!self.running).then(|| OutputItem::Reading(self.rest()));
                [Some(OutputItem::Line(taken)), rests].into_iter().flatten().collect()
            }
            _ => vec![],
        }
    }

    fn system(&mut self, line: &Value) -> Vec<OutputItem> {
        match text(line, "/subtype") {
            "init" => {
                let conversation = ConversationId::new(text(line, "/session_id"));
                let mut items = vec![OutputItem::Conversation(conversation)];
                if !self.running {
                    // No message of ours began it.
                    self.running = true;
                    let turn = format!("agent {}", text(line, "/uuid"));
                    let cause = TurnCause::Agent {};
                    items.push(OutputItem::Report(AgentReport::TurnBegan { turn, cause }));
                }
                items.push(working(String::new()));
                items
            }
            "api_retry" => {
                let (attempt, most) = (number(line, "/attempt"), number(line, "/max_retries"));
                match number(line, "/error_status") {
                    401 => vec![OutputItem::Reading(Reading::LoggedOut)],
                    0 => vec![working(format!("tries the provider again, {attempt} of {most}"))],
                    status => {
                        vec![working(format!(
                            "tries the provider again after HTTP {status}, {attempt} of {most}"
                        ))]
                    }
                }
            }
            "background_tasks_changed" => {
                self.background = list(line, "/tasks").len();
                if self.running { vec![] } else { vec![OutputItem::Reading(self.rest())] }
            }
            _ => vec![],
        }
    }

    /// Returns the state between two turns.
    fn rest(&self) -> Reading {
        match self.background {
            0 => Reading::Idle,
            1 => Reading::Working { doing: "a task in the background".into() },
            several => Reading::Working { doing: format!("{several} tasks in the background") },
        }
    }

    /// Interprets a part of a message of the agent or its tools.
    fn part(part: &Value, is_subagent: bool) -> Option<OutputItem> {
        let call = |id: &str, tool: &str, detail, state| {
            let (id, tool) = (id.to_owned(), tool.to_owned());
            Some(OutputItem::Report(AgentReport::ToolCall(ToolCall { id, tool, detail, state })))
        };
        match text(part, "/type") {
            "text" if !is_subagent => {
                let text = text(part, "/text").to_owned();
                Some(OutputItem::Report(AgentReport::Reply { text }))
            }
            "tool_use" if text(part, "/name") == QUESTION_TOOL => None,
            "tool_use" if text(part, "/name") == "TodoWrite" => {
                let steps = plan_steps(list(part, "/input/todos"), &["content", "text"]);
                Some(OutputItem::Report(AgentReport::Plan { steps }))
            }
            "tool_use" => {
                let detail = part.get("input").map(call_detail).unwrap_or_default();
                call(text(part, "/id"), text(part, "/name"), detail, CallState::Running)
            }
            "tool_result" => call(text(part, "/tool_use_id"), "", String::new(), CallState::Ended),
            _ => None,
        }
    }

    fn asked(&mut self, line: &Value) -> Vec<OutputItem> {
        if text(line, "/request/subtype") != "can_use_tool" {
            return vec![];
        }
        let id = text(line, "/request_id");
        let (tool, input) = (text(line, "/request/tool_name"), &line["request"]["input"]);
        let suggestions = line["request"]["permission_suggestions"].clone();
        let questions = list(input, "/questions");
        let is_question = tool == QUESTION_TOOL && !questions.is_empty();
        let (question, details, options) = if is_question {
            let titles: Vec<&str> = questions.iter().map(|question| text(question, "/question")).collect();
            let labels = match questions {
                [only] => list(only, "/options"),
                _ => &[],
            };
            let option = |option: &Value| AskOption {
                id: text(option, "/label").to_owned(),
                label: text(option, "/label").to_owned(),
                kind: OptionKind::Other,
            };
            (titles.join("\n"), vec![], labels.iter().map(option).collect())
        } else {
            let detail = call_detail(input);
            let title = match detail.is_empty() {
                true => tool.to_owned(),
                false => format!("{tool}: {detail}"),
            };
            let option = |id: &str, label: &str, kind| AskOption { id: id.into(), label: label.into(), kind };
            let always = option(ALWAYS, "Yes, and do not ask again for this", OptionKind::AllowAlways);
            let offers_rules = suggestions.as_array().is_some_and(|rules| !rules.is_empty());
            let options = [Some(option(ALLOW, "Yes", OptionKind::AllowOnce)), offers_rules.then_some(always)]
                .into_iter()
                .flatten()
                .chain([option(DENY, "No", OptionKind::RejectOnce)])
                .collect();
            (title, call_details(tool, input), options)
        };
        let questions = is_question.then(|| input.clone());
        self.asks.insert(AskId::new(id), OpenRequest { questions, suggestions });
        let ask = Some(id.to_owned());
        vec![OutputItem::Line(ProtocolLine::Asking { question, ask, details, options })]
    }

    fn closed(&mut self, id: &str) -> Vec<OutputItem> {
        match self.asks.remove(&AskId::new(id)) {
            Some(_) => vec![OutputItem::Line(ProtocolLine::AskClosed { ask: id.to_owned() })],
            None => vec![],
        }
    }

    fn message_line(&mut self, line: &Value) -> Vec<OutputItem> {
        let is_echo = line.get("isReplay").and_then(Value::as_bool) == Some(true);
        if is_echo && let Some(delivery) = delivery_of(self.session, text(line, "/uuid")) {
            let parts: Vec<&str> =
                list(line, "/message/content").iter().map(|part| text(part, "/text")).collect();
            let text = parts.join("\n");
            return vec![OutputItem::Line(ProtocolLine::Taken { delivery: Some(delivery), text })];
        }
        // An error of the provider is reported with the end of the turn.
        if line.get("is_api_error_message").and_then(Value::as_bool) == Some(true) || is_echo {
            return vec![];
        }
        let is_subagent = !text(line, "/parent_tool_use_id").is_empty();
        let items: Vec<OutputItem> = list(line, "/message/content")
            .iter()
            .filter_map(|part| ClaudeDialect::part(part, is_subagent))
            .collect();
        items
    }

    /// Interprets the end of a turn.
    fn result(&mut self, line: &Value) -> Vec<OutputItem> {
        let mut items: Vec<OutputItem> = list(line, "/permission_denials")
            .iter()
            .map(|denied| {
                let call = Some(text(denied, "/tool_use_id")).filter(|id| !id.is_empty()).map(str::to_owned);
                let tool = one_line(text(denied, "/tool_name"));
                OutputItem::Line(ProtocolLine::Denied { tool, call })
            })
            .collect();
        items.extend(self.spend(line));
        let why = match (text(line, "/result"), text(line, "/errors/0")) {
            ("", "") => text(line, "/subtype"),
            ("", why) | (why, _) => why,
        };
        if why.starts_with("No conversation found") {
            self.opening = Opening::Refused(why.to_owned());
            items.push(OutputItem::Gone);
        }
        let is_error = line.get("is_error").and_then(Value::as_bool) == Some(true);
        let is_cut =
            std::mem::take(&mut self.cancelled) || text(line, "/terminal_reason").starts_with("aborted");
        let limited = self.limited.take();
        let (end, then) = match (number(line, "/api_error_status"), limited) {
            _ if is_cut => (TurnEnd::Cancelled {}, self.rest()),
            _ if !is_error && text(line, "/subtype") == "success" => (TurnEnd::Done {}, self.rest()),
            (429, until) => {
                let until = until.flatten();
                (TurnEnd::Limited { until }, Reading::Limited { until })
            }
            (_, Some(until)) => (TurnEnd::Limited { until }, Reading::Limited { until }),
            (401, None) => (TurnEnd::Failed { why: why.to_owned() }, Reading::LoggedOut),
            _ => (TurnEnd::Failed { why: why.to_owned() }, self.rest()),
        };
        self.running = false;
        self.asks.clear();
        items.push(OutputItem::Ended { end, then });
        items
    }

    /// Adds up what was used since the last result: the totals in it go on over a resume and would be counted twice.
    fn spend(&mut self, line: &Value) -> Option<OutputItem> {
        let models = line.get("model_usage_since_last_result")?.as_object()?;
        for usage in models.values() {
            if let Some(more) = usage.get("costUSD").and_then(Value::as_f64).and_then(micros) {
                self.spent.micros = Some(self.spent.micros.unwrap_or_default().saturating_add(more));
            }
            for key in ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"] {
                let more = usage.get(key).and_then(Value::as_u64).unwrap_or_default();
                self.spent.tokens = self.spent.tokens.saturating_add(more);
            }
        }
        let (micros, tokens) = (self.spent.micros, Some(self.spent.tokens));
        Some(OutputItem::Line(ProtocolLine::Spent { micros, tokens, turns: 0, seconds: 0 }))
    }
}

impl Dialect for ClaudeDialect {
    fn read(&mut self, line: &str, _: Timestamp) -> Vec<OutputItem> {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            // An error of the program itself, before it speaks.
            return match line.contains("No conversation found") {
                true => vec![OutputItem::Gone],
                false => vec![],
            };
        };
        match text(&line, "/type") {
            "control_response" if text(&line, "/response/request_id") == OPEN => {
                self.opening = match text(&line, "/response/subtype") {
                    "success" => Opening::Ready,
                    _ => Opening::Refused(text(&line, "/response/error").to_owned()),
                };
                vec![OutputItem::Reading(Reading::Idle)]
            }
            // The answers that it has got are repeated to us.
            "control_response" => self.closed(text(&line, "/response/request_id")),
            "control_cancel_request" => self.closed(text(&line, "/request_id")),
            "control_request" => self.asked(&line),
            "command_lifecycle" => match delivery_of(self.session, text(&line, "/command_uuid")) {
                Some(delivery) => self.lifecycle(delivery, text(&line, "/state")),
                None => vec![],
            },
            "system" => self.system(&line),
            "assistant" | "user" => self.message_line(&line),
            "rate_limit_event" if text(&line, "/rate_limit_info/status") == "rejected" => {
                let seconds = line.pointer("/rate_limit_info/resetsAt").and_then(Value::as_i64);
                let until = seconds.map(|seconds| Timestamp(seconds.saturating_mul(1000)));
                self.limited = Some(until);
                vec![OutputItem::Reading(Reading::Limited { until })]
            }
            "result" => self.result(&line),
            _ => vec![],
        }
    }

    fn skip(&mut self) {
        // The opening is long over if output is missing.
        self.opening = Opening::Ready;
    }

    fn due(&self) -> Vec<ProtocolWrite> {
        let request = json!({ "subtype": "initialize", "hooks": null });
        vec![control(OPENING, OPEN, &request)]
    }

    fn opening(&self) -> Opening {
        self.opening.clone()
    }

    fn message(&mut self, order: &DeliverOrder) -> Vec<ProtocolWrite> {
        let mut writes = Vec::new();
        if order.interrupt && self.running {
            self.cancelled = true;
            let id = format!("interrupt-{}", order.delivery);
            writes.push(control(delivery_number(order.delivery, 1), &id, &json!({ "subtype": "interrupt" })));
        }
        let message = json!({
            "type": "user",
            "uuid": message_id(self.session, order.delivery),
            "message": { "role": "user", "content": [{ "type": "text", "text": order.text }] },
        });
        writes.push(ProtocolWrite::new(delivery_number(order.delivery, 0), &message));
        writes
    }

    fn answer(&mut self, ask: &AskId, order: &AnswerOrder) -> Option<ProtocolWrite> {
        let open = self.asks.remove(ask)?;
        let answer = match (&open.questions, order.option.as_deref()) {
            (Some(input), option) => {
                let said = option.unwrap_or(&order.text);
                let mut lines = said.lines();
                let questions = list(input, "/questions");
                let several = questions.len() > 1 && said.lines().count() >= questions.len();
                let answers: serde_json::Map<String, Value> = questions
                    .iter()
                    .map(|question| {
                        let answer = if several { lines.next().unwrap_or_default() } else { said };
                        (text(question, "/question").to_owned(), answer.into())
                    })
                    .collect();
                let mut input = input.clone();
                input["answers"] = answers.into();
                json!({ "behavior": "allow", "updatedInput": input })
            }
            (None, Some(ALLOW)) => json!({ "behavior": "allow" }),
            (None, Some(ALWAYS)) => json!({ "behavior": "allow", "updatedPermissions": open.suggestions }),
            (None, Some(_)) => json!({ "behavior": "deny", "message": "The user does not allow this." }),
            (None, None) => json!({ "behavior": "deny", "message": order.text }),
        };
        let response = json!({ "subtype": "success", "request_id": ask, "response": answer });
        let message = json!({ "type": "control_response", "response": response });
        Some(ProtocolWrite::new(ANSWERS | u64::from(order.number), &message))
    }

    fn cancel(&mut self, number: u32) -> Vec<ProtocolWrite> {
        if !self.running {
            return vec![];
        }
        self.cancelled = true;
        let request = json!({ "subtype": "interrupt" });
        vec![control(CANCELS | u64::from(number), &format!("cancel-{number}"), &request)]
    }
}

fn working(doing: String) -> OutputItem {
    OutputItem::Reading(Reading::Working { doing })
}

fn number(line: &Value, pointer: &str) -> i64 {
    line.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

fn control(number: u64, id: &str, request: &Value) -> ProtocolWrite {
    let message = json!({ "type": "control_request", "request_id": id, "request": request });
    ProtocolWrite::new(number, &message)
}

/// Returns the id of a message: a UUID of the form that Claude accepts, which names the session and ends with the delivery.
pub(super) fn message_id(session: SessionId, delivery: u32) -> String {
    format!("{}{delivery:012x}", message_ids(session))
}

fn message_ids(session: SessionId) -> String {
    let (high, low) = (session.0 >> 32, session.0);
    format!("{high:08x}-{:04x}-4{:03x}-8a0e-", (low >> 16) & 0xffff, low & 0xfff)
}

/// Returns the delivery with this id, if it is one of the session's.
fn delivery_of(session: SessionId, id: &str) -> Option<u32> {
    u32::from_str_radix(id.strip_prefix(&message_ids(session))?, 16).ok()
}
