//! `ao pause`: holds a session back until it is resumed.

use super::print_state;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;

/// Pause a session: it gets no further turn until it is resumed
///
/// Its process stays, and the current turn ends normally. Messages wait in its outbox.
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
    cx.call(async |client| {
        for session in &args.sessions {
            print_state(&client.pause(session).await?, cx)?;
        }
        Ok(())
    })
}
