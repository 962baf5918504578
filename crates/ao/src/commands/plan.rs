//! `ao plan`: what would run when, and why the rest waits.

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Show what runs, what would run next, and why the rest waits
///
/// Sessions in the queue, and the issues that are picked up by themselves. A round begins when the one before has ended; it is
/// told as if all took as long, and is no promise. What waits for a person has no round.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao plan
  ao plan --project my-app
  ao plan --mermaid > plan.mmd     a graph for a page or a pull request
  ao plan --json")]
pub(crate) struct Args {
    /// Only what this project has
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
    /// As a graph in the language of Mermaid
    #[arg(long)]
    mermaid: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let plan = cx.wait_for(async { Ok(client.plan(args.project.as_deref()).await?) })?;
    if cx.json() {
        return Ok(ui::json(&plan)?);
    }
    let drawn = if args.mermaid { show::plan_graph(&plan) } else { show::plan(&plan, Canvas::here()) };
    Ok(ui::line(drawn.trim_end())?)
}
