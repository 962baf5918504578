//! `ao hook`: what an agent runs to tell what it does. Starts nothing and waits for nobody.

use std::io;

use ao_agent::hook::{self, Place};

use crate::error::CommandError;

/// Tells the daemon what an agent does; agents run it, with the event as JSON on stdin or as the argument
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The event's name, for agents that do not say it themselves; or the event as JSON, and stdin is not read
    event: Option<String>,
}

/// An agent must not fail because of us, so what goes wrong is said and nothing more.
pub(crate) fn run(args: &Args) -> Result<(), CommandError> {
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
