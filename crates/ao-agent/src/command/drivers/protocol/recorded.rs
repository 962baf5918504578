//! The dialects read what the real agents were recorded to print, and write what they were recorded to understand.
//!
//! Each snapshot shows one agent: what is reported for each recording, and after `>` what is written. They were compared with
//! the recordings by hand; look at both before you accept a change.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::agent_report::{AgentReport, CallState, TurnCause, TurnEnd};
use ao_core::ask::{Ask, AskKind, AskOption};
use ao_core::evidence::Reading;
use ao_core::{AskId, Attempt, ConversationId, SessionId, Timestamp};
use ao_ports::{AnswerOrder, DeliverOrder, ProcessRef};
use serde_json::{Value, json};

use super::LineSqueezer;
use super::dialect::{Dialect, Opening, ProtocolKind, ProtocolLaunch};
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

const AGENTS: [&str; 5] = ["claude-code", "codex", "opencode", "gemini", "qwen"];

/// A recording, in which the ids of the recorder are ours.
struct Recording {
    kind: ProtocolKind,
    lines: Vec<RecordedLine>,
}

enum RecordedLine {
    /// Written to the agent.
    Written(Part),
    /// Printed by the agent.
    Printed(String),
}

/// The reports of a recording, each with the number of the line that it comes from; and the lines that were written.
#[derive(Default)]
struct Played {
    items: Vec<(usize, OutputItem)>,
    written: Vec<Value>,
}

fn folder(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/protocol").join(agent)
}

/// Returns the names of the recordings of an agent, in order.
fn stories(agent: &str) -> Vec<String> {
    let files = fs::read_dir(folder(agent)).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

impl Recording {
    fn read(agent: &str, story: &str) -> Recording {
        let kind = match agent {
            "claude-code" => ProtocolKind::Claude,
            "codex" => ProtocolKind::Codex,
            _ => ProtocolKind::Acp,
        };
        let text = fs::read_to_string(folder(agent).join(format!("{story}.txt"))).unwrap();
        let mut lines = Vec::new();
        for line in text.lines() {
            let message: Value = serde_json::from_str(&line[3..]).unwrap();
            if !line.starts_with("-> ") {
                lines.push(RecordedLine::Printed(ours(kind, message).to_string()));
                continue;
            }
            let part = part(&message);
            let is_message = matches!(part, Part::Message(_));
            lines.push(RecordedLine::Written(part));
            if kind == ProtocolKind::Acp && is_message {
                // The recorder did not send the request whose error proves that a prompt was read.
                let error = json!({ "code": -32601, "message": "Method not found" });
                let proof = json!({ "jsonrpc": "2.0", "id": "taken-1", "error": error });
                lines.push(RecordedLine::Printed(proof.to_string()));
            }
        }
        Recording { kind, lines }
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        super::dialect(SESSION, launch(self.kind))
    }

    fn printed(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            RecordedLine::Printed(line) => Some(line.as_str()),
            RecordedLine::Written(_) => None,
        })
    }

    /// Plays all of it: writes where the recorder wrote, and reads what the agent printed. A daemon that ends before the line
    /// of the number `restart` leaves the rest to the next one, which reads again what was printed.
    fn play(&self, restart: Option<usize>) -> Played {
        let (mut dialect, mut played) = (self.dialect(), Played::default());
        let mut ask = None;
        for (number, line) in self.lines.iter().enumerate() {
            if restart == Some(number) {
                dialect = self.dialect();
                for line in &self.lines[..number] {
                    if let RecordedLine::Printed(line) = line {
                        dialect.read(line, Timestamp(0));
                    }
                }
            }
            let writes = match line {
                RecordedLine::Printed(line) => {
                    for item in dialect.read(line, Timestamp(0)) {
                        if let OutputItem::Line(ProtocolLine::Asking { ask: Some(id), .. }) = &item {
                            ask = Some(AskId::new(id));
                        }
                        played.items.push((number, item));
                    }
                    continue;
                }
                RecordedLine::Written(Part::Opening) => dialect.due(),
                RecordedLine::Written(Part::Message(text)) => dialect.message(&order(text)),
                RecordedLine::Written(Part::Answer(option)) => {
                    let ask: AskId = ask.take().expect("an ask is open");
                    let order = answer(&ask, *option, &played);
                    dialect.answer(&ask, &order).into_iter().collect()
                }
                RecordedLine::Written(Part::Cancel) => dialect.cancel(1),
            };
            let values = writes.iter().map(|write| serde_json::from_str::<Value>(&write.line).unwrap());
            for value in values {
                if !played.written.contains(&value) {
                    played.written.push(value);
                }
            }
        }
        played
    }
}

/// Returns the items without those that differ after a restart: an ask that was answered is closed by the driver, which
/// remembers its answers.
fn lasting(items: &[(usize, OutputItem)], from: usize) -> Vec<&(usize, OutputItem)> {
    let is_closed = |item: &OutputItem| matches!(item, OutputItem::Line(ProtocolLine::AskClosed { .. }));
    items.iter().filter(|(number, item)| *number >= from && !is_closed(item)).collect()
}

#[test]
fn recordings_are_reported_as_they_happened() {
    for agent in AGENTS {
        let mut text = String::new();
        for story in stories(agent) {
            let played = Recording::read(agent, &story).play(None);
            text += &format!("{story}\n");
            let mut last = String::new();
            for line in played.items.iter().filter_map(|(_, item)| short(item)) {
                if line != last {
                    text += &format!("    {line}\n");
                }
                last = line;
            }
            for line in &played.written {
                text += &format!("  > {}\n", beginning(&line.to_string(), 400));
            }
        }
        insta::assert_snapshot!(agent, text);
    }
}

#[test]
fn a_restart_at_any_line_changes_no_report() {
    for agent in AGENTS {
        for story in stories(agent) {
            let recording = Recording::read(agent, &story);
            let whole = recording.play(None);
            for restart in 1..recording.lines.len() {
                let resumed = recording.play(Some(restart));
                let (expected, found) = (lasting(&whole.items, restart), lasting(&resumed.items, restart));
                assert_eq!(expected, found, "{agent} {story} restarted at {restart}");
                assert_eq!(whole.written.last(), resumed.written.last(), "{agent} {story} at {restart}");
            }
        }
    }
}

/// The kept output of a process may begin in the middle of a line.
#[test]
fn the_end_is_the_same_without_the_beginning() {
    let end = |items: &[OutputItem]| {
        items.iter().rev().find_map(|item| match item {
            OutputItem::Ended { end, then } => Some((end.clone(), then.clone())),
            _ => None,
        })
    };
    for agent in AGENTS {
        for story in stories(agent) {
            let recording = Recording::read(agent, &story);
            let printed: Vec<&str> = recording.printed().collect();
            let read = |dialect: &mut dyn Dialect, lines: &[&str]| -> Vec<OutputItem> {
                lines.iter().flat_map(|line| dialect.read(line, Timestamp(0))).collect()
            };
            let expected = end(&read(&mut *recording.dialect(), &printed));
            // What follows the last line with a limit or a login in it is only the end of the turn.
            for lost in 0..printed.len().saturating_sub(3) {
                let mut dialect = recording.dialect();
                dialect.skip();
                assert_eq!(dialect.opening(), Opening::Ready);
                let found = end(&read(&mut *dialect, &printed[lost..]));
                let is_limit = matches!(expected, Some((TurnEnd::Limited { .. }, _)));
                if is_limit {
                    assert!(
                        matches!(found, Some((TurnEnd::Limited { .. }, _))),
                        "{agent} {story} {lost}: {found:?}"
                    );
                } else {
                    assert_eq!(expected, found, "{agent} {story} without {lost} lines");
                }
            }
        }
    }
}

#[test]
fn pieces_of_any_size_are_the_same_lines() {
    let mut random = fastrand::Rng::with_seed(1);
    for agent in AGENTS {
        for story in stories(agent) {
            let recording = Recording::read(agent, &story);
            let expected: Vec<&str> = recording.printed().collect();
            let bytes = expected.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
            for size in [1, 2, 7, 4096, usize::MAX] {
                let mut squeezer = LineSqueezer::default();
                let mut rest = &bytes[..];
                let mut lines = Vec::new();
                while !rest.is_empty() {
                    let most = if size > 7 { size } else { random.usize(1..=size) };
                    let (piece, after) = rest.split_at(most.min(rest.len()));
                    lines.extend(squeezer.push(piece));
                    rest = after;
                }
                assert!(lines == expected, "{agent} {story} in pieces of {size}");
            }
        }
    }
}

/// The recordings have a mark for the bytes that were left out.
#[test]
fn a_permission_for_a_large_file_is_reported_whatever_its_size() {
    for agent in AGENTS {
        let recording = Recording::read(agent, "large-write");
        let expected: Vec<OutputItem> =
            recording.play(None).items.into_iter().map(|(_, item)| item).collect();
        let (mut dialect, mut squeezer) = (recording.dialect(), LineSqueezer::default());
        let mut found = Vec::new();
        let mut written = 0;
        for line in recording.printed() {
            let mut lines = Vec::new();
            let mut rest = line;
            // Once the largest that there may be; a megabyte is enough for the others.
            let size = if line.contains("can_use_tool") { 64 << 20 } else { 1 << 20 };
            while let Some((before, (_, after))) = rest
                .split_once("{{")
                .and_then(|(before, mark)| mark.split_once(" bytes}}").map(|mark| (before, mark)))
            {
                lines.extend(squeezer.push(before.as_bytes()));
                written += 1;
                let piece = [b'x'; 1 << 16];
                for _ in 0..size / piece.len() {
                    lines.extend(squeezer.push(&piece));
                }
                rest = after;
            }
            lines.extend(squeezer.push(rest.as_bytes()));
            lines.extend(squeezer.push(b"\n"));
            assert_eq!(lines.len(), 1, "{agent}: {line}");
            assert!(lines[0].len() <= 256 * 1024, "{agent}: {}", lines[0].len());
            found.extend(dialect.read(&lines[0], Timestamp(0)));
        }
        let kinds = |items: &[OutputItem]| -> Vec<String> {
            let is_closed =
                |item: &&OutputItem| !matches!(item, OutputItem::Line(ProtocolLine::AskClosed { .. }));
            items.iter().filter(is_closed).filter_map(short).map(|line| beginning(&line, 12)).collect()
        };
        assert!(written > 0, "{agent} has no large text");
        assert_eq!(kinds(&found), kinds(&expected), "{agent}");
        let ask = found.iter().find_map(|item| match item {
            OutputItem::Line(ProtocolLine::Asking { details, options, .. }) => Some((details, options)),
            _ => None,
        });
        if let Some((details, options)) = ask {
            assert!(!details.is_empty() && !options.is_empty(), "{agent}");
        }
    }
}

enum Part {
    Opening,
    Message(String),
    /// By this label, or the option that it means.
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
        let denied = text.contains("deny")
            || text.contains("decline")
            || text.contains("cancel")
            || text.contains("reject");
        let question = text.contains("answers");
        return Part::Answer(match (denied, question) {
            (_, true) => Some("red"),
            (true, _) => Some("no"),
            (false, _) => Some("yes"),
        });
    }
    Part::Opening
}

/// Returns the order for an answer: the option of this kind, as a person means it by its label.
fn answer(ask: &AskId, label: Option<&'static str>, played: &Played) -> AnswerOrder {
    let options = played.items.iter().rev().find_map(|(_, item)| match item {
        OutputItem::Line(ProtocolLine::Asking { question, details, options, ask: Some(id) })
            if id == ask.as_str() =>
        {
            let ask = ask.clone();
            let (title, details, options) = (question.clone(), details.clone(), options.clone());
            Some(Ask { id: ask, kind: AskKind::Permission, title, details, options })
        }
        _ => None,
    });
    let asked = options.expect("the ask was reported");
    let label = label.unwrap_or_default();
    let option = asked.option(label);
    AnswerOrder {
        session: SESSION,
        attempt: Attempt(1),
        process: ProcessRef::new("process", "p"),
        number: 1,
        ask: Some(ask.clone()),
        question: String::new(),
        option: option.map(|option| option.id.clone()),
        text: if option.is_some() { String::new() } else { label.to_owned() },
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

fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Describes an item in a few words.
fn short(item: &OutputItem) -> Option<String> {
    Some(match item {
        OutputItem::Line(ProtocolLine::Taken { delivery, text }) => {
            format!(
                "taken {} {}",
                delivery.unwrap_or_default(),
                if text.is_empty() { "-" } else { "with its text" }
            )
        }
        OutputItem::Line(ProtocolLine::Asking { question, details, options, .. }) => {
            let details: Vec<String> = details.iter().map(|it| beginning(&format!("{it:?}"), 160)).collect();
            let option = |it: &AskOption| format!("{} {:?} ({:?})", beginning(&it.id, 60), it.label, it.kind);
            let options: Vec<String> = options.iter().map(option).collect();
            format!(
                "asks {:?}\n      about {}\n      options {}",
                beginning(question, 60),
                details.join(", "),
                options.join(", ")
            )
        }
        OutputItem::Line(ProtocolLine::AskClosed { .. }) => "ask closed".into(),
        OutputItem::Line(ProtocolLine::Spent { micros, tokens, .. }) => {
            format!("spent {micros:?} micros, {tokens:?} tokens")
        }
        OutputItem::Line(line) => format!("{line:?}"),
        OutputItem::Reading(Reading::Working { doing }) if doing.is_empty() => "works".into(),
        OutputItem::Reading(Reading::Working { doing }) => format!("works: {doing}"),
        OutputItem::Reading(reading) => format!("{reading:?}"),
        OutputItem::Report(AgentReport::Reply { text }) => format!("says {text:?}"),
        OutputItem::Report(AgentReport::ToolCall(call)) => match call.state {
            CallState::Running => format!("calls {}", beginning(&call.summary(), 60)),
            CallState::Ended => "call ended".into(),
            CallState::Denied => "call denied".into(),
        },
        OutputItem::Report(AgentReport::TurnBegan { cause: TurnCause::Agent {}, .. }) => {
            "begins by itself".into()
        }
        OutputItem::Report(other) => format!("{other:?}"),
        OutputItem::Conversation(_) => "names its conversation".into(),
        OutputItem::Ended { end, then } => {
            let end = match end {
                TurnEnd::Done {} => "done".to_owned(),
                TurnEnd::Cancelled {} => "cancelled".to_owned(),
                TurnEnd::Failed { why } => format!("failed: {}", beginning(why, 60)),
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
        OutputItem::Failed(why) => format!("fails: {}", beginning(why, 60)),
        OutputItem::Began | OutputItem::LimitMentioned(_) => return None,
    })
}

/// As Gemini CLI 0.61.0 prints it: the end of the history follows the answer.
#[test]
fn a_conversation_that_is_loaded_is_not_reported_again() {
    let mut launch = launch(ProtocolKind::Acp);
    launch.resume = true;
    let mut dialect = super::dialect(SESSION, launch);
    let update = |kind: &str, text: &str| {
        let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
        let params = json!({ "sessionId": "chosen", "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
    };
    let abilities = json!({ "agentCapabilities": { "loadSession": true } });
    let mut found = Vec::new();
    let mut read = |dialect: &mut dyn Dialect, line: &str| {
        found.extend(dialect.read(line, Timestamp(0)).iter().filter_map(short));
    };
    read(&mut *dialect, &json!({ "id": "initialize", "result": abilities }).to_string());
    let writes = dialect.due();
    let open: Value = serde_json::from_str(&writes.last().unwrap().line).unwrap();
    assert_eq!((&open["method"], &open["params"]["sessionId"]), (&json!("session/load"), &json!("chosen")));
    read(&mut *dialect, &update("user_message_chunk", "before"));
    read(&mut *dialect, &json!({ "id": "open", "result": {} }).to_string());
    assert_eq!(dialect.message(&order("go")).len(), 2);
    read(&mut *dialect, &update("agent_message_chunk", "hello"));
    read(
        &mut *dialect,
        &json!({ "id": "taken-1", "error": { "code": -32601, "message": "no" } }).to_string(),
    );
    read(&mut *dialect, &update("agent_message_chunk", "again"));
    read(&mut *dialect, &json!({ "id": "deliver-1", "result": { "stopReason": "end_turn" } }).to_string());
    let expected =
        ["names its conversation", "Idle", "taken 1 -", "works", "says \"again\"", "turn done; Idle"];
    assert_eq!(found, expected);
}

/// As Claude Code 2.1.325 prints it: the process before has taken the message.
#[test]
fn a_message_that_an_earlier_process_took_begins_no_turn() {
    let mut dialect = super::dialect(SESSION, launch(ProtocolKind::Claude));
    let uuid = super::claude::message_id(SESSION, 3);
    let content = json!({ "role": "user", "content": [{ "type": "text", "text": "go" }] });
    let echo = json!({ "type": "user", "message": content, "uuid": uuid, "isReplay": true });
    let lifecycle =
        |state: &str| json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state });
    let read = |dialect: &mut dyn Dialect, lines: &[Value]| -> Vec<String> {
        let items = lines.iter().flat_map(|line| dialect.read(&line.to_string(), Timestamp(0)));
        items.collect::<Vec<_>>().iter().filter_map(short).collect()
    };
    let found = read(&mut *dialect, &[echo.clone(), lifecycle("completed")]);
    assert_eq!(found, ["taken 3 with its text", "taken 3 -", "Idle"]);
    let mut dialect = super::dialect(SESSION, launch(ProtocolKind::Claude));
    let found = read(&mut *dialect, &[lifecycle("started"), echo, lifecycle("completed")]);
    assert_eq!(found, ["taken 3 -", "taken 3 with its text"]);
}
