//! `ao retry`: retries a failed set-up or start.

use super::print_state;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;

/// Retry what failed: the set-up of a session, or the start of its agent
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao logs my-app-3 --setup   what went wrong
  ao retry my-app-3")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| print_state(&client.retry(&args.session).await?, cx))
}
