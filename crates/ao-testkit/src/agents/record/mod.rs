//! Records the protocols of the real agents, for tests of the drivers: `cargo xtask agents --record`.
//!
//! A recording has a line for each message, in order: `-> ` and the bytes that were sent to the agent, or `<- ` and the
//! bytes that it sent. Ids, paths and times are replaced, so that two recordings of one version differ little, and a long
//! text is cut.

mod acp;
mod claude;
mod codex;
mod normal;

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::Value;

use super::agent_box::AgentBox;
use super::catalog::{self, RealAgent};
use crate::standin::RecordedRequest;

/// Time limit of a message that has to come.
const LIMIT: Duration = Duration::from_secs(40);

const SILENT: &str = "no message came in time";

/// The story that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordedStory {
    /// The name of the file.
    name: &'static str,
    prompt: &'static str,
    turn: StoryTurn,
}

/// The part of the client in a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoryTurn {
    /// Allows everything and waits for the end of the turn.
    Allow,
    Deny,
    /// Interrupts when the request has reached the stand-in.
    Interrupt,
    /// Stops listening after the first report of a retry, or when none comes: some agents retry for minutes.
    UntilRetry,
    /// Waits for a second turn, which the agent begins when its background task ends.
    Background,
}

const fn story(name: &'static str, prompt: &'static str, turn: StoryTurn) -> RecordedStory {
    RecordedStory { name, prompt, turn }
}

const STORIES: &[RecordedStory] = &[
    story("plain", "[[say hello there]]", StoryTurn::Allow),
    story("allowed", "[[ask]] [[run echo hi > a.txt]] [[say done]]", StoryTurn::Allow),
    story("denied", "[[ask]] [[run echo hi > a.txt]] [[say done]]", StoryTurn::Deny),
    story("question", "[[question Which colour? | red | blue]] [[say done]]", StoryTurn::Allow),
    story("interrupt", "[[hang]] [[say never]]", StoryTurn::Interrupt),
    story("large-write", "[[ask]] [[fill big.txt 1000000]] [[say done]]", StoryTurn::Allow),
    story("http-400", "[[http 400]] [[say never]]", StoryTurn::Allow),
    story("http-401", "[[http 401]] [[say never]]", StoryTurn::UntilRetry),
    story("http-429", "[[http 429]] [[say never]]", StoryTurn::UntilRetry),
    story("http-529", "[[http 529]] [[say never]]", StoryTurn::Allow),
    story("limit", "[[limit 300]] [[say never]]", StoryTurn::UntilRetry),
    story("background", "[[background sleep 1; echo done]] [[say one]]", StoryTurn::Background),
];

/// Records all stories of an agent into a folder. Returns a line about each.
pub fn record(agent: &RealAgent, folder: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let mut report = Vec::new();
    for story in STORIES {
        let (agent_box, mut talk) = match agent.name {
            "claude-code" => claude::open(story)?,
            "codex" => codex::open()?,
            "opencode" | "gemini" | "qwen" => acp::open(agent)?,
            name => return Err(io::Error::other(format!("`{name}` has no protocol that is recorded"))),
        };
        let played = match agent.name {
            "claude-code" => claude::play(story, &agent_box, &mut talk),
            "codex" => codex::play(story, &agent_box, &mut talk),
            _ => acp::play(story, &agent_box, &mut talk),
        };
        let text = normal::normal(&talk.text, &agent_box);
        let name = format!("{}/{}.txt", agent.name, story.name);
        // An agent that retries without a report is recorded as it is.
        let refused = ["[[http", "[[limit"].iter().any(|tag| story.prompt.starts_with(tag));
        let silent = |why: &String| why == SILENT && refused;
        match played.or_else(|why| if silent(&why) { Ok(()) } else { Err(why) }) {
            Ok(()) => {
                report.push(format!("{name}: {} messages, {} bytes", talk.messages, text.len()));
                fs::write(folder.join(format!("{}.txt", story.name)), text)?;
            }
            Err(why) => report.push(format!("{name}: not recorded: {why}\n{text}")),
        }
    }
    Ok(report)
}

/// A conversation with an agent over its pipes, and its recording.
#[derive(Debug)]
struct RecordedTalk {
    agent: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    text: String,
    messages: usize,
}

impl RecordedTalk {
    fn start(mut command: Command) -> io::Result<RecordedTalk> {
        let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = agent.stdin.take().expect("it is piped");
        let output = agent.stdout.take().expect("it is piped");
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(RecordedTalk { agent, input, lines, text: String::new(), messages: 0 })
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = message.to_string();
        self.keep("-> ", &line);
        writeln!(self.input, "{line}").map_err(|err| format!("the agent no longer reads: {err}"))
    }

    /// Returns the next message, or `None` at the end of the output.
    fn next(&mut self) -> Result<Option<Value>, String> {
        let line = match self.lines.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => return Err(SILENT.into()),
        };
        self.keep("<- ", &line);
        serde_json::from_str(&line).map(Some).map_err(|_| format!("not JSON: {line}"))
    }

    fn keep(&mut self, direction: &str, line: &str) {
        self.text.push_str(direction);
        self.text.push_str(line);
        self.text.push('\n');
        self.messages += 1;
    }
}

impl Drop for RecordedTalk {
    fn drop(&mut self) {
        // The box kills what is left in it; this one is waited for.
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// Waits until the stand-in has received a request with tools.
fn await_request(agent_box: &AgentBox) -> Result<(), String> {
    let has_come = |request: &RecordedRequest| !request.tools.is_empty();
    let come = agent_box.wait_for(LIMIT, |requests| requests.iter().any(has_come));
    come.map(drop).map_err(|err| err.to_string())
}

fn known(name: &str) -> &'static RealAgent {
    catalog::find(name).expect("it is in the table")
}
