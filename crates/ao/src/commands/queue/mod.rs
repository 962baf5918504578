//! `ao queue`: the merge queue.

mod change;
mod list;

pub(super) use change::enqueue;

use crate::cli::context::Context;
use crate::error::CommandError;

/// Show and change the merge queue
///
/// Each entry is tested on top of the ones before it, and lands only if exactly that result is green. `mergeQueue` in
/// the configuration sets how many entries are tested at a time, and how many together.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  ao queue
  ao queue add 7 --priority 5
  ao queue remove 7
  ao queue priority 7 10
  ao queue pause \"a release is under way\"
  ao queue resume"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: list::ListArgs,
}

subcommands! {
    #[command(alias = "ls")]
    List(list::ListArgs) => list::run,
    Add(change::AddArgs) => change::add,
    #[command(alias = "rm")]
    Remove(change::RemoveArgs) => change::remove,
    Priority(change::PriorityArgs) => change::priority,
    Pause(change::PauseArgs) => change::pause,
    Resume(change::ResumeArgs) => change::resume,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Some(command) => command.run(cx),
        None => list::run(&args.list, cx),
    }
}
