//! The dialects read what the real agents were recorded to say.

use std::path::Path;

use ao_core::agent_report::{AgentReport, CallState, TurnCause, TurnEnd};
use ao_core::evidence::Reading;
use ao_core::{Attempt, AskId, ConversationId, SessionId, Timestamp};
use ao_ports::{AnswerOrder, DeliverOrder, ProcessRef};
use serde_json::{Value, json};

use super::dialect::{Dialect, ProtocolKind, ProtocolLaunch};
use crate::command::drivers::output::OutputItem;
use crate::line::ProtocolLine;

const SESSION: SessionId = SessionId(0x4f);

fn order(text: &str) -> DeliverOrder {
    DeliverOrder {
        session: SESSION,
        attempt: Attempt(1),
        process: None,
        conversation: None,
        delivery: 1,
        tries: 1,
        text: text.into(),
        interrupt: false,
    }
}

fn launch(kind: ProtocolKind) -> ProtocolLaunch {
    ProtocolLaunch {
        kind,
        path: "/box/work".into(),
        conversation: ConversationId::new("chosen"),
        resume: false,
        model: None,
        settings: Value::Null,
    }
}

/// Plays a recording: writes where the recorder wrote, and reads what the agent said. Returns what was read, in short, and
/// what was written.
fn play(agent: &str, story: &str) -> (Vec<String>, Vec<Value>) {
    let kind = match agent {
        "claude-code" => ProtocolKind::Claude,
        "codex" => ProtocolKind::Codex,
        _ => ProtocolKind::Acp,
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/protocol").join(agent);
    let text = std::fs::read_to_string(folder.join(format!("{story}.txt"))).unwrap();
    let mut dialect = super::dialect(SESSION, launch(kind));
    let (mut heard, mut written) = (Vec::new(), Vec::new());
    let mut ask = None;
    for line in text.lines() {
        let message: Value = serde_json::from_str(&line[3..]).unwrap();
        if line.starts_with("-> ") {
            let writes = match part(&message) {
                Part::Opening => dialect.due(),
                Part::Message(text) => dialect.message(&order(&text)),
                Part::Answer(option) => {
                    let ask: AskId = ask.take().expect("an ask is open");
                    let order = answer(&ask, option);
                    dialect.answer(&ask, &order).into_iter().collect()
                }
                Part::Cancel => dialect.cancel(1),
            };
            for write in writes {
                let value: Value = serde_json::from_str(&write.line).unwrap();
                if !written.contains(&value) {
                    written.push(value);
                }
            }
            continue;
        }
        let line = ours(kind, message).to_string();
        for item in dialect.read(&line, Timestamp(0)) {
            if let OutputItem::Line(ProtocolLine::Asking { ask: Some(id), .. }) = &item {
                ask = Some(AskId::new(id));
            }
            heard.extend(short(&item));
        }
    }
    heard.dedup();
    (heard, written)
}

enum Part {
    Opening,
    Message(String),
    Answer(Option<&'static str>),
    Cancel,
}

/// Returns the part that a recorded line for the agent plays.
fn part(message: &Value) -> Part {
    let text = message.to_string();
    let prompt = ["/message/content/0/text", "/params/prompt/0/text", "/params/input/0/text"];
    if let Some(prompt) = prompt.iter().find_map(|at| message.pointer(at)?.as_str()) {
        return Part::Message(prompt.to_owned());
    }
    if text.contains("interrupt") || text.contains("session/cancel") {
        return Part::Cancel;
    }
    if message.get("response").is_some() || message.get("result").is_some() {
        let denied = text.contains("deny") || text.contains("cancel") || text.contains("reject");
        let question = text.contains("answers");
        return Part::Answer(match (denied, question) {
            (_, true) => Some("red"),
            (true, _) => Some("no"),
            (false, _) => Some("yes"),
        });
    }
    Part::Opening
}

fn answer(ask: &AskId, option: Option<&str>) -> AnswerOrder {
    AnswerOrder {
        session: SESSION,
        attempt: Attempt(1),
        process: ProcessRef::new("process", "p"),
        number: 1,
        ask: Some(ask.clone()),
        question: String::new(),
        option: option.map(str::to_owned),
        text: String::new(),
    }
}

/// Replaces the ids of the recorder by ours.
fn ours(kind: ProtocolKind, message: Value) -> Value {
    let of_recorder = message.get("method").is_none() && message.get("id").is_some();
    let mut text = message.to_string();
    match kind {
        ProtocolKind::Claude => {
            let own = super::claude::message_id(SESSION, 1);
            text = text.replace("aaaaaaaa-0000-4000-8000-000000000001", &own);
            text = text.replace(r#""request_id":"r1""#, r#""request_id":"open""#);
        }
        ProtocolKind::Codex => text = text.replace(r#""ao-1""#, &format!(r#""ao-{SESSION}-1""#)),
        ProtocolKind::Acp => {}
    }
    let mut message: Value = serde_json::from_str(&text).unwrap();
    if of_recorder && kind != ProtocolKind::Claude {
        let name = match message["id"].as_i64() {
            Some(1) => "initialize",
            Some(2) => "open",
            Some(3) => "deliver-1",
            _ => "cancel-1",
        };
        message["id"] = json!(name);
    }
    message
}

/// Describes an item in a few words.
fn short(item: &OutputItem) -> Option<String> {
    Some(match item {
        OutputItem::Line(ProtocolLine::Taken { delivery, text }) => {
            format!("taken {} {}", delivery.unwrap_or_default(), if text.is_empty() { "-" } else { "with its text" })
        }
        OutputItem::Line(ProtocolLine::Asking { question, details, options, .. }) => {
            let options: Vec<&str> = options.iter().map(|option| option.label.as_str()).collect();
            let question: String = question.chars().take(60).collect();
            format!("asks {question:?} {} details, {options:?}", details.len())
        }
        OutputItem::Line(ProtocolLine::AskClosed { .. }) => "ask closed".into(),
        OutputItem::Line(ProtocolLine::Spent { micros, tokens, .. }) => {
            format!("spent {:?} dollars, {:?} tokens", micros.map(|it| it as f64 / 1e6), tokens)
        }
        OutputItem::Line(line) => format!("{line:?}"),
        OutputItem::Reading(Reading::Working { doing }) if doing.is_empty() => "works".into(),
        OutputItem::Reading(Reading::Working { doing }) => format!("works: {doing}"),
        OutputItem::Reading(reading) => format!("{reading:?}"),
        OutputItem::Report(AgentReport::Reply { text }) => format!("says {text:?}"),
        OutputItem::Report(AgentReport::ToolCall(call)) => match call.state {
            CallState::Running => format!("calls {}", call.summary().chars().take(60).collect::<String>()),
            CallState::Ended => "call ended".into(),
            CallState::Denied => "call denied".into(),
        },
        OutputItem::Report(AgentReport::TurnBegan { cause: TurnCause::Agent {}, .. }) => "begins by itself".into(),
        OutputItem::Report(other) => format!("{other:?}"),
        OutputItem::Conversation(_) => "names its conversation".into(),
        OutputItem::Ended { end, then } => {
            let end = match end {
                TurnEnd::Done {} => "done".to_owned(),
                TurnEnd::Cancelled {} => "cancelled".to_owned(),
                TurnEnd::Failed { why } => format!("failed: {}", why.chars().take(60).collect::<String>()),
                TurnEnd::Limited { until } => format!("limited {}", until.is_some()),
            };
            let then = match then {
                Reading::Working { doing } => doing.clone(),
                Reading::Limited { .. } => "limited".into(),
                other => format!("{other:?}"),
            };
            format!("turn {end}; {then}")
        }
        OutputItem::Gone => "does not know the conversation".into(),
        OutputItem::Failed(why) => format!("fails: {}", why.chars().take(60).collect::<String>()),
        OutputItem::Began | OutputItem::LimitMentioned(_) => return None,
    })
}

#[test]
fn print() {
    for agent in ["claude-code", "codex", "opencode", "gemini", "qwen"] {
        for story in ["plain", "allowed", "denied", "question", "interrupt", "large-write", "http-400", "http-401", "http-429", "http-529", "limit", "background"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/protocol").join(agent);
            if !folder.join(format!("{story}.txt")).exists() { continue; }
            let (heard, written) = play(agent, story);
            println!("== {agent} {story}");
            for line in heard { println!("   {line}"); }
            if matches!(story, "allowed" | "question" | "interrupt") { for line in written { println!(" > {}", line.to_string().chars().take(300).collect::<String>()); } }
        }
    }
}
