//! `ao advise`: the most important next steps.

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// List the most important next steps, with reasons
///
/// Derived from facts: open questions, pull requests that are one command away from their merge, sessions that block
/// others, flaky failures, used-up budgets. Ranked by how much each step unblocks. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao advise
  ao advise --project my-app -n 3
  ao advise --json | jq -r '.advice[0].do'")]
pub(crate) struct Args {
    /// Only this project
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
    /// Maximum number of steps
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let mut list = cx.call(async |client| Ok(client.advice(args.project.as_deref()).await?))?;
    list.advice.truncate(args.limit.unwrap_or(usize::MAX));
    cx.print(&list, || ui::line(show::advice(&list, Canvas::here()).trim_end()))
}
