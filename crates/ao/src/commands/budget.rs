//! `ao budget`: what is spent of what.

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Show what is spent of each budget, and which accounts a provider refuses
///
/// Today's and the whole spending of each project, that of tasks with a limit, and today's of all together. What no agent
/// has told is unknown, and is counted by turns and time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao budget
  ao budget --json
  ao config set dailyBudget.usd 20           for all projects together, each day
  ao resume my-app-3 --of project-day --usd 40   a higher limit for today")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let budgets = cx.wait_for(async { Ok(client.budgets().await?) })?;
    if cx.json() {
        return Ok(ui::json(&budgets)?);
    }
    Ok(ui::line(show::budgets(&budgets, Canvas::here()).trim_end())?)
}
