//! `ao demo-agent`: the agent of the demo. A script instead of a model, but a real program at a real terminal that
//! implements the line protocol.
//!
//! ```text
//!  idle ──task──► works, commits, pushes, opens a pull request ──► idle
//!       ──message about a failed check, a review, a conflict──► fixes it, pushes ──► idle
//! ```

mod script;

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use self::script::DemoScript;
use crate::cli::context::Context;
use crate::error::CommandError;

/// The scripted agent of the demo
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time that each piece of work takes
    #[arg(long, default_value_t = 300)]
    pause_ms: u64,
    /// Maximum lifetime, in seconds
    #[arg(long, default_value_t = 180)]
    life: u64,
}

pub(crate) fn run(args: &Args, _: &Context) -> Result<(), CommandError> {
    // Agents outlive the daemon, and this one must not outlive a demo that was killed.
    let life = Duration::from_secs(args.life);
    thread::spawn(move || {
        thread::sleep(life);
        std::process::exit(0);
    });
    if io::stdin().is_terminal() {
        raw_terminal()?;
    }
    let mut script = DemoScript::new(Duration::from_millis(args.pause_ms));
    let mut taken = BTreeSet::new();
    let mut told = io::stdin().lock().lines();
    send_line(&json!({ "ao": "started" }))?;
    send_line(&json!({ "ao": "idle" }))?;
    while let Some(line) = next(&mut told)? {
        if line["ao"] != "message" {
            continue;
        }
        let (delivery, text) = (line["delivery"].as_u64().unwrap_or_default(), &line["text"]);
        send_line(&json!({ "ao": "taken", "delivery": delivery, "text": text }))?;
        // A message repeated after a crash of the daemon is accepted but not acted on twice.
        if taken.insert(delivery) {
            script.turn(text.as_str().unwrap_or_default())?;
            send_line(&json!({ "ao": "spent", "turns": taken.len() }))?;
        }
        send_line(&json!({ "ao": "idle" }))?;
    }
    Ok(())
}

/// Switches off line mode and echo: a terminal passes on lines of at most 4 KB.
fn raw_terminal() -> Result<(), CommandError> {
    let status = Command::new("stty").args(["-icanon", "-echo"]).stdin(Stdio::inherit()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::environment(format!("`stty -icanon -echo` failed: {status}"))),
        Err(err) => Err(about("start the program `stty`")(err)),
    }
}

/// Returns the next line that is JSON; other lines are ignored.
fn next(told: &mut impl Iterator<Item = io::Result<String>>) -> Result<Option<Value>, CommandError> {
    for line in told {
        if let Ok(line) = serde_json::from_str(&line.map_err(about("read from stdin"))?) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Writes a message of the line protocol.
fn send_line(line: &Value) -> Result<(), CommandError> {
    show(&line.to_string())
}

/// Prints a line for people who watch the terminal.
fn show(line: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Adds what was attempted to an error.
fn about(tried: &'static str) -> impl Fn(io::Error) -> CommandError {
    move |err| CommandError::environment(format!("could not {tried}: {err}"))
}
