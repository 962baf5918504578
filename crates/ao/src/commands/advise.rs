//! `ao advise`: what matters now, and why.

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Say what matters now and why, the most pressing first
///
/// From facts alone: who waits for an answer, what is one command away from its merge, what blocks others, which failure is
/// chance, which budget is spent. Ranked by how much goes on once it is done. Nothing is done by it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao advise
  ao advise --project my-app -n 3
  ao advise --json | jq -r '.advice[0].do'")]
pub(crate) struct Args {
    /// Only what concerns this project
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let mut list = cx.wait_for(async { Ok(client.advice(args.project.as_deref()).await?) })?;
    list.advice.truncate(args.limit.unwrap_or(usize::MAX));
    if cx.json() {
        return Ok(ui::json(&list)?);
    }
    Ok(ui::line(show::advice(&list, Canvas::here()).trim_end())?)
}
