//! `ao hook`: reports of agents about their activity. Starts nothing and waits for nothing.

use std::io;

use ao_agent::hook::{self, Place};

use crate::cli::context::Context;
use crate::error::CommandError;

/// Report an agent's activity to the daemon; agents run it, with the event as JSON on stdin or as the argument
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the event, for agents that do not include it; or the event as JSON, and stdin is not read
    event: Option<String>,
}

/// Prints an error and succeeds anyway: an agent must not fail because of us.
pub(crate) fn run(args: &Args, _: &Context) -> Result<(), CommandError> {
    let left = Place::from_environment(|name| std::env::var(name).ok())
        .and_then(|place| hook::leave(&place, args.event.as_deref(), io::stdin().lock()));
    if let Err(err) = left {
        let mut said = err.to_string();
        let mut cause = std::error::Error::source(&err);
        while let Some(err) = cause {
            said.push_str(&format!(": {err}"));
            cause = err.source();
        }
        anstream::eprintln!("ao hook: {said}");
    }
    Ok(())
}
