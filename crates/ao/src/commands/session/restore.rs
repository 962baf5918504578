//! `ao session restore`: continues a session that has ended or lost its process.

use ao_api::Restore;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::commands::print_state;
use crate::error::CommandError;

/// Continue a session that has exited or was stopped, with its conversation and workspace
///
/// A removed workspace is recreated as it was. The session uses the runtime that is configured now, so one that could
/// not start can be restored after a change of `runtime`. Refused if its issue is closed or its pull request merged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session restore my-app-3
  ao session restore my-app-3 --runtime process
  ao session ls --state exited,stopped   those that can be restored")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// The runtime to use from now on: process or tmux [default: from the configuration]
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let how = Restore { runtime: args.runtime.clone() };
    cx.call(async |client| print_state(&client.restore(&args.session, &how).await?, cx))
}
