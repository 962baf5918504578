//! Agents that speak the protocol of their maker, without a model: lines in, lines out.
//!
//! They do what the recordings of the real agents show, and panic at a line that those refuse. A message may have the tags of
//! [the contract](crate::contract::agent): `[[ask QUESTION]]` and `[[work 10m]]`.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

/// The conversation of every fake.
pub(crate) const CONVERSATION: &str = "talk";

/// A protocol that a fake speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeProtocol {
    /// Claude Code's stream-json. A message with an id that it knows is not taken again.
    Claude,
    /// `codex app-server`. A message that is written twice is taken twice.
    Codex,
    /// The Agent Client Protocol. A message that is written twice is taken twice.
    Acp,
}

/// An agent in the middle of its conversation.
#[derive(Debug)]
pub struct ProtocolFake {
    protocol: FakeProtocol,
    is_open: bool,
    /// The ids of the messages of Claude.
    known: BTreeSet<String>,
    /// Messages for after the running turn.
    queued: VecDeque<FakeMessage>,
    running: Option<FakeMessage>,
    /// The asks of the running turn that were not opened yet.
    asks: VecDeque<String>,
    /// The number of the open ask.
    open: Option<u32>,
    opened: u32,
    turns: Vec<String>,
    answers: usize,
    out: Vec<Value>,
}

#[derive(Debug, Clone)]
struct FakeMessage {
    /// The id of the message, of the turn or of the request, by which its end is reported.
    id: Value,
    text: String,
}

impl ProtocolFake {
    pub fn new(protocol: FakeProtocol) -> ProtocolFake {
        ProtocolFake {
            protocol,
            is_open: false,
            known: BTreeSet::new(),
            queued: VecDeque::new(),
            running: None,
            asks: VecDeque::new(),
            open: None,
            opened: 0,
            turns: Vec::new(),
            answers: 0,
            out: Vec::new(),
        }
    }

    /// Returns the texts that it took as its user's turns.
    pub fn turns(&self) -> &[String] {
        &self.turns
    }

    /// Returns the number of answers to its asks.
    pub fn answers(&self) -> usize {
        self.answers
    }

    /// Acts on a line, and returns the lines that it prints.
    pub fn hear(&mut self, line: &str) -> Vec<String> {
        let line: Value = serde_json::from_str(line).expect("a line is one message");
        match self.protocol {
            FakeProtocol::Claude => self.hear_claude(&line),
            FakeProtocol::Codex => self.hear_codex(&line),
            FakeProtocol::Acp => self.hear_acp(&line),
        }
        std::mem::take(&mut self.out).iter().map(Value::to_string).collect()
    }

    fn hear_claude(&mut self, line: &Value) {
        match (text(line, "/type"), text(line, "/request/subtype")) {
            ("control_request", "initialize") => {
                assert!(!std::mem::replace(&mut self.is_open, true), "it is open already");
                self.control_response(line);
            }
            ("control_request", "interrupt") => {
                self.control_response(line);
                self.cancel();
            }
            ("user", _) => {
                let id = text(line, "/uuid").to_owned();
                if !self.known.insert(id.clone()) {
                    return self.lifecycle(&id, "completed");
                }
                self.lifecycle(&id, "queued");
                let text = text(line, "/message/content/0/text").to_owned();
                self.queued.push_back(FakeMessage { id: id.into(), text });
                self.take_next();
            }
            ("control_response", _) => {
                self.out.push(line.clone());
                self.answered(line.pointer("/response/request_id"));
            }
            other => panic!("{other:?}: {line}"),
        }
    }

    fn hear_codex(&mut self, line: &Value) {
        match text(line, "/method") {
            "initialize" => self.out.push(json!({ "id": line["id"], "result": { "userAgent": "ao" } })),
            "initialized" => {}
            "thread/start" | "thread/resume" => {
                assert!(!std::mem::replace(&mut self.is_open, true), "it is open already");
                let thread = json!({ "id": CONVERSATION });
                self.out.push(json!({ "id": line["id"], "result": { "thread": thread } }));
                self.out.push(json!({ "method": "thread/started", "params": { "thread": thread } }));
            }
            "turn/start" => {
                assert_eq!(text(line, "/params/threadId"), CONVERSATION, "{line}");
                let turn = format!("turn-{}", self.turns.len() + 1);
                let answer = json!({ "turn": { "id": turn, "status": "inProgress" } });
                self.out.push(json!({ "id": line["id"], "result": answer }));
                let client = line["params"]["clientUserMessageId"].clone();
                let text = text(line, "/params/input/0/text").to_owned();
                let message = FakeMessage { id: turn.into(), text };
                self.queued.push_back(message.clone());
                self.take_next();
                let item = json!({ "type": "userMessage", "id": "i", "clientId": client,
                    "content": [{ "type": "text", "text": message.text }] });
                let item = json!({ "item": item, "threadId": CONVERSATION, "turnId": message.id });
                // The item belongs before the asks of the turn.
                let at = self.out.iter().position(|it| it["method"] == "turn/started").expect("it has begun");
                self.out.insert(at + 1, json!({ "method": "item/started", "params": item }));
            }
            "turn/interrupt" => {
                self.out.push(json!({ "id": line["id"], "result": {} }));
                self.cancel();
            }
            "" => self.answered(line.get("id")),
            other => panic!("{other:?}: {line}"),
        }
    }

    fn hear_acp(&mut self, line: &Value) {
        assert_eq!(line["jsonrpc"], "2.0", "{line}");
        let mut answer = |result: Value| {
            self.out.push(json!({ "jsonrpc": "2.0", "id": line["id"], "result": result }));
        };
        match text(line, "/method") {
            "initialize" => answer(json!({ "protocolVersion": 1, "agentCapabilities": {
                "loadSession": true, "sessionCapabilities": { "resume": {} } } })),
            "session/new" | "session/resume" => {
                answer(json!({ "sessionId": CONVERSATION }));
                assert!(!std::mem::replace(&mut self.is_open, true), "it is open already");
            }
            "session/prompt" => {
                assert_eq!(text(line, "/params/sessionId"), CONVERSATION, "{line}");
                let text = text(line, "/params/prompt/0/text").to_owned();
                self.queued.push_back(FakeMessage { id: line["id"].clone(), text });
                self.take_next();
            }
            "session/cancel" => self.cancel(),
            "" => self.answered(line.get("id")),
            method => {
                let error = json!({ "code": -32601, "message": format!("\"Method not found\": {method}") });
                self.out.push(json!({ "jsonrpc": "2.0", "id": line["id"], "error": error }));
            }
        }
    }

    /// Begins the next turn, if none is running.
    fn take_next(&mut self) {
        if self.running.is_some() {
            return;
        }
        let Some(message) = self.queued.pop_front() else { return };
        self.turns.push(message.text.clone());
        let asks = message.text.split("[[ask ").skip(1).filter_map(|part| part.split_once("]]"));
        self.asks = asks.map(|(question, _)| question.to_owned()).collect();
        let is_long = message.text.contains("[[work");
        match self.protocol {
            FakeProtocol::Claude => {
                let id = message.id.as_str().unwrap_or_default().to_owned();
                self.lifecycle(&id, "started");
                self.out.push(
                    json!({ "type": "system", "subtype": "init", "session_id": CONVERSATION, "uuid": "i" }),
                );
                let content =
                    json!({ "role": "user", "content": [{ "type": "text", "text": message.text }] });
                self.out.push(json!({ "type": "user", "uuid": id, "isReplay": true, "message": content }));
            }
            FakeProtocol::Codex => {
                let turn = json!({ "id": message.id, "status": "inProgress" });
                let params = json!({ "threadId": CONVERSATION, "turn": turn });
                self.out.push(json!({ "method": "turn/started", "params": params }));
            }
            FakeProtocol::Acp => self.update(json!({ "sessionUpdate": "agent_thought_chunk" })),
        }
        self.running = Some(message);
        if !is_long {
            self.go_on();
        }
    }

    /// Opens the next ask of the turn, or ends it.
    fn go_on(&mut self) {
        let Some(question) = self.asks.pop_front() else { return self.end(true) };
        self.opened += 1;
        self.open = Some(self.opened);
        let id = self.opened;
        let options = json!([{ "label": "yes" }, { "label": "no" }]);
        self.out.push(match self.protocol {
            FakeProtocol::Claude => {
                let input = json!({ "questions": [{ "question": question, "options": options }] });
                let request =
                    json!({ "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": input });
                json!({ "type": "control_request", "request_id": id.to_string(), "request": request })
            }
            FakeProtocol::Codex => {
                let question = json!({ "id": "q", "question": question, "options": options });
                let params = json!({ "threadId": CONVERSATION, "questions": [question] });
                json!({ "id": id, "method": "item/tool/requestUserInput", "params": params })
            }
            FakeProtocol::Acp => {
                let options = json!([{ "optionId": "once", "name": "Yes", "kind": "allow_once" }]);
                let params = json!({ "sessionId": CONVERSATION, "toolCall": { "title": question },
                    "options": options });
                json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params })
            }
        });
    }

    /// Takes the answer to its open ask. A real agent ignores an answer to another one.
    fn answered(&mut self, id: Option<&Value>) {
        let number = id.and_then(|id| id.as_u64().or_else(|| id.as_str()?.parse().ok()));
        let open = self.open.take();
        assert!(open.is_some() && open.map(u64::from) == number, "{id:?} is not open, but {open:?} is");
        if self.running.is_none() {
            return;
        }
        self.answers += 1;
        if self.protocol == FakeProtocol::Codex {
            let params = json!({ "threadId": CONVERSATION, "requestId": id });
            self.out.push(json!({ "method": "serverRequest/resolved", "params": params }));
        }
        self.go_on();
    }

    /// Ends the running turn before it is done. An ask that is open stays so for ACP, where the client has to withdraw it.
    fn cancel(&mut self) {
        if self.running.is_some() {
            self.asks.clear();
            if self.protocol != FakeProtocol::Acp {
                self.open = None;
            }
            self.end(false);
        }
    }

    fn end(&mut self, is_done: bool) {
        let message = self.running.take().expect("a turn is running");
        match self.protocol {
            FakeProtocol::Claude => {
                let done =
                    json!({ "type": "result", "subtype": "success", "is_error": false, "result": "done" });
                let cut = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true,
                    "terminal_reason": "aborted_streaming", "errors": [] });
                self.out.push(if is_done { done } else { cut });
                let id = message.id.as_str().unwrap_or_default().to_owned();
                self.lifecycle(&id, if is_done { "completed" } else { "cancelled" });
            }
            FakeProtocol::Codex => {
                let status = if is_done { "completed" } else { "interrupted" };
                let turn = json!({ "id": message.id, "status": status, "error": null });
                let params = json!({ "threadId": CONVERSATION, "turn": turn });
                self.out.push(json!({ "method": "turn/completed", "params": params }));
            }
            FakeProtocol::Acp => {
                let reason = if is_done { "end_turn" } else { "cancelled" };
                let result = json!({ "stopReason": reason });
                self.out.push(json!({ "jsonrpc": "2.0", "id": message.id, "result": result }));
            }
        }
        self.take_next();
    }

    fn control_response(&mut self, request: &Value) {
        let response = json!({ "subtype": "success", "request_id": request["request_id"], "response": {} });
        self.out.push(json!({ "type": "control_response", "response": response }));
    }

    fn lifecycle(&mut self, id: &str, state: &str) {
        self.out.push(json!({ "type": "command_lifecycle", "command_uuid": id, "state": state }));
    }

    fn update(&mut self, update: Value) {
        let params = json!({ "sessionId": CONVERSATION, "update": update });
        self.out.push(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }
}

/// Returns the text at a JSON pointer, or an empty one.
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
