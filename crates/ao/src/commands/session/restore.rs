//! `ao session restore`: a session that has ended or lost its process goes on.

use ao_api::Restore;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::commands::told_state;
use crate::error::CommandError;

/// Let a session that has exited or was stopped go on, with its conversation and its workspace
///
/// A workspace that was removed is brought back as it was. It goes on in the runtime that is configured now, so one that
/// could not start can be brought back after a change of `runtime`. Refused if its issue is closed or its pull request
/// merged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session restore my-app-3
  ao session restore my-app-3 --runtime process
  ao session ls --state exited,stopped   those that can be restored")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = completers::sessions())]
    session: String,
    /// Where it runs from now on: process or tmux [default: what is configured]
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let how = Restore { runtime: args.runtime.clone() };
    cx.wait_for(async { told_state(&client.restore(&args.session, &how).await?, cx) })
}
