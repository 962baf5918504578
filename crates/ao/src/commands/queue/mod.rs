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

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(alias = "ls")]
    List(list::ListArgs),
    Add(change::AddArgs),
    #[command(alias = "rm")]
    Remove(change::RemoveArgs),
    Priority(change::PriorityArgs),
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        None => list::run(&args.list, cx),
        Some(Command::List(args)) => list::run(args, cx),
        Some(Command::Add(args)) => change::add(args, cx),
        Some(Command::Remove(args)) => change::remove(args, cx),
        Some(Command::Priority(args)) => change::priority(args, cx),
        Some(Command::Pause(args)) => change::pause(args, cx),
        Some(Command::Resume(args)) => change::resume(args, cx),
    }
}
