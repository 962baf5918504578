//! `ao plan`: the order in which sessions will start, and why the rest waits.

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Show what runs, what will run next, and why the rest waits
///
/// Includes queued sessions, and issues that are assigned automatically. A round starts when the previous one has
/// ended. All sessions are assumed to take the same time, so this is an estimate. Sessions that wait for a person, or
/// whose process has ended, have no round.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao plan
  ao plan --project my-app
  ao plan --mermaid > plan.mmd     a graph for a page or a pull request
  ao plan --json")]
pub(crate) struct Args {
    /// Only this project
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
    /// Print a Mermaid graph
    #[arg(long)]
    mermaid: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let plan = cx.call(async |client| Ok(client.plan(args.project.as_deref()).await?))?;
    cx.print(&plan, || {
        let drawn = if args.mermaid { show::plan_graph(&plan) } else { show::plan(&plan, Canvas::here()) };
        ui::line(drawn.trim_end())
    })
}
