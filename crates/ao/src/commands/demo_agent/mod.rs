//! `ao demo-agent`: the agent of the demo. A script instead of a model, but a real program at a real terminal that speaks the
//! line protocol.
//!
//! ```text
//!  idle ──task──► does it, commits, pushes, proposes it ──► idle
//!       ──news of a failed check, a review, a conflict──► mends that, pushes ──► idle
//! ```

mod script;

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use self::script::Script;
use crate::error::CommandError;

/// The scripted agent of the demo
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long each piece of work takes
    #[arg(long, default_value_t = 300)]
    pause_ms: u64,
    /// How long it lives at most, in seconds
    #[arg(long, default_value_t = 180)]
    life: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), CommandError> {
    // Agents outlive the daemon, and this one must not outlive a demo that was killed with no chance to end it.
    let life = Duration::from_secs(args.life);
    thread::spawn(move || {
        thread::sleep(life);
        std::process::exit(0);
    });
    if io::stdin().is_terminal() {
        raw_terminal()?;
    }
    let mut script = Script::new(Duration::from_millis(args.pause_ms));
    let mut taken = BTreeSet::new();
    let mut told = io::stdin().lock().lines();
    say(&json!({ "ao": "started" }))?;
    say(&json!({ "ao": "idle" }))?;
    while let Some(line) = next(&mut told)? {
        if line["ao"] != "message" {
            continue;
        }
        let (delivery, text) = (line["delivery"].as_u64().unwrap_or_default(), &line["text"]);
        say(&json!({ "ao": "taken", "delivery": delivery, "text": text }))?;
        // The same message once more, after a crash of the daemon's, is taken but not acted on twice.
        if taken.insert(delivery) {
            script.turn(text.as_str().unwrap_or_default())?;
            say(&json!({ "ao": "spent", "turns": taken.len() }))?;
        }
        say(&json!({ "ao": "idle" }))?;
    }
    Ok(())
}

/// A terminal hands on lines of 4 KB at most, and shows them again, until it is told to do neither.
fn raw_terminal() -> Result<(), CommandError> {
    let status = Command::new("stty").args(["-icanon", "-echo"]).stdin(Stdio::inherit()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::environment(format!("`stty -icanon -echo` failed: {status}"))),
        Err(err) => Err(about("start the program `stty`")(err)),
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

/// Says something in the line protocol.
fn say(line: &Value) -> Result<(), CommandError> {
    show(&line.to_string())
}

/// Shows something to whoever watches the terminal.
fn show(line: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Says what was tried when it went wrong.
fn about(tried: &'static str) -> impl Fn(io::Error) -> CommandError {
    move |err| CommandError::environment(format!("could not {tried}: {err}"))
}
