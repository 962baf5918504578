//! `ao session`: session commands under the names that users of other orchestrators know.

mod claim_pr;
mod cleanup;
mod kill;
mod restore;

use super::list;

use crate::cli::context::Context;
use crate::error::CommandError;

/// List, kill, restore and clean up sessions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session ls
  ao session kill my-app-3
  ao session restore my-app-3
  ao session cleanup --dry-run
  ao session claim-pr 7 --project my-app")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(alias = "list")]
    Ls(list::Args),
    Kill(kill::Args),
    Restore(restore::Args),
    Cleanup(cleanup::Args),
    ClaimPr(claim_pr::Args),
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Command::Ls(args) => list::run(args, cx),
        Command::Kill(args) => kill::run(args, cx),
        Command::Restore(args) => restore::run(args, cx),
        Command::Cleanup(args) => cleanup::run(args, cx),
        Command::ClaimPr(args) => claim_pr::run(args, cx),
    }
}
