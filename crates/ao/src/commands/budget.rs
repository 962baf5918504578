//! `ao budget`: the usage of budgets.

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Show the usage of each budget, and the accounts that a provider refuses
///
/// Lists today's and the total spending of each project, of tasks with a limit, and today's spending of all. Spending
/// that no agent has reported is unknown, and is counted by turns and time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao budget
  ao budget --json
  ao config set dailyBudget.usd 20           for all projects together, each day
  ao resume my-app-3 --of project-day --usd 40   a higher limit for today")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, cx: &Context) -> Result<(), CommandError> {
    let budgets = cx.call(async |client| Ok(client.budgets().await?))?;
    cx.print(&budgets, || ui::line(show::budgets(&budgets, Canvas::here()).trim_end()))
}
