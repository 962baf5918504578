//! `ao demo-agent`: the agent of the demo. A script instead of a model, but a real program that speaks the line protocol.
//!
//! ```text
//!  idle ──message──► first turn: makes a file and commits it ──► idle
//!       ──message──► any later turn: asks, and if it may, changes the file and leaves it uncommitted ──► idle
//! ```

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::CommandError;

/// The file that it works on.
pub(crate) const FILE: &str = "greeting.txt";
/// What it asks before the second turn's change.
pub(crate) const QUESTION: &str = "May I change greeting.txt?";

/// The scripted agent of the demo
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long each piece of work takes
    #[arg(long, default_value_t = 300)]
    pause_ms: u64,
}

/// Agents outlive the daemon, and this one must not outlive a demo that was killed with no chance to end it.
const LIFE: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &Args) -> Result<(), CommandError> {
    thread::spawn(|| {
        thread::sleep(LIFE);
        std::process::exit(0);
    });
    let mut agent = Script { pause: Duration::from_millis(args.pause_ms), taken: BTreeSet::new() };
    let mut told = io::stdin().lock().lines();
    say(&json!({ "ao": "started" }))?;
    say(&json!({ "ao": "idle" }))?;
    while let Some(line) = next(&mut told)? {
        if line["ao"] == "message" {
            agent.turn(&line, &mut told)?;
        }
    }
    Ok(())
}

struct Script {
    pause: Duration,
    /// The deliveries that it has acted on.
    taken: BTreeSet<u64>,
}

impl Script {
    fn turn(
        &mut self,
        message: &Value,
        told: &mut impl Iterator<Item = io::Result<String>>,
    ) -> Result<(), CommandError> {
        let (delivery, text) = (message["delivery"].as_u64().unwrap_or_default(), &message["text"]);
        say(&json!({ "ao": "taken", "delivery": delivery, "text": text }))?;
        // The same message once more, after a crash of the daemon's: taken, but not acted on twice.
        if !self.taken.insert(delivery) {
            return say(&json!({ "ao": "idle" }));
        }
        if self.taken.len() == 1 {
            self.write_and_commit()?;
        } else {
            self.ask_and_change(text, told)?;
        }
        say(&json!({ "ao": "spent", "turns": self.taken.len() }))?;
        say(&json!({ "ao": "idle" }))
    }

    fn write_and_commit(&self) -> Result<(), CommandError> {
        self.work("writing a greeting")?;
        fs::write(FILE, "Hello.\n").map_err(about("write greeting.txt"))?;
        git(&["add", FILE])?;
        git(&["commit", "--quiet", "-m", "Add a greeting"])?;
        self.work("reading it once more")
    }

    fn ask_and_change(
        &self,
        text: &Value,
        told: &mut impl Iterator<Item = io::Result<String>>,
    ) -> Result<(), CommandError> {
        self.work("thinking about the message")?;
        say(&json!({ "ao": "asking", "question": QUESTION }))?;
        let answer = loop {
            match next(told)? {
                Some(line) if line["ao"] == "answer" => break line["text"].clone(),
                Some(_) => {}
                None => return Ok(()),
            }
        };
        if answer != "yes" {
            return Ok(());
        }
        self.work("changing the greeting")?;
        let mut file = OpenOptions::new().append(true).open(FILE).map_err(about("open greeting.txt"))?;
        writeln!(file, "{}", text.as_str().unwrap_or_default()).map_err(about("change greeting.txt"))?;
        Ok(())
    }

    fn work(&self, doing: &str) -> Result<(), CommandError> {
        say(&json!({ "ao": "working", "doing": doing }))?;
        thread::sleep(self.pause);
        Ok(())
    }
}

/// The next line that is JSON; whatever else comes in is passed over.
fn next(told: &mut impl Iterator<Item = io::Result<String>>) -> Result<Option<Value>, CommandError> {
    for line in told {
        if let Ok(line) = serde_json::from_str(&line.map_err(about("read from stdin"))?) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

fn say(line: &Value) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Says what was tried when it went wrong.
fn about(tried: &'static str) -> impl Fn(io::Error) -> CommandError {
    move |err| CommandError::environment(format!("could not {tried}: {err}"))
}

fn git(args: &[&str]) -> Result<(), CommandError> {
    let status = Command::new("git").args(args).stdin(Stdio::null()).stdout(io::stderr()).status();
    let status = status.map_err(about("start the program `git`"))?;
    if status.success() {
        Ok(())
    } else {
        Err(CommandError::environment(format!("`git {}` failed: {status}", args.join(" "))))
    }
}
