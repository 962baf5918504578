//! `ao pause`: no further turn until it is resumed.

use super::told_state;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;

/// Hold a session back: it gets no further turn until it is resumed
///
/// Its process stays, and what it is doing now goes on to its end. Messages wait in its outbox.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pause my-app-3
  ao resume my-app-3")]
pub(crate) struct Args {
    /// The sessions
    #[arg(required = true, value_name = "SESSION", add = completers::sessions())]
    sessions: Vec<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async {
        for session in &args.sessions {
            told_state(&client.pause(session).await?, cx)?;
        }
        Ok(())
    })
}
