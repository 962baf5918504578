//! `ao notify`: whether notices reach people.

use ao_api::ChannelTest;

use crate::context::Context;
use crate::error::{CommandError, Kind};
use crate::show::{Canvas, Cell, Column, Table};
use crate::{calls, ui};

/// Try the channels by which people are told
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao notify test
  ao notify test slack desktop")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Test(Test),
}

/// Send a test notice on each channel, and say for each what became of it
///
/// Every channel is tried on its own, so one that hangs holds up no other. Exits with 1 if one of them failed. Secrets in
/// addresses are masked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao notify test
  ao notify test slack desktop
  ao notify test --json | jq '.[] | select(.delivered | not)'")]
struct Test {
    /// The channels, by their names in the configuration [default: all]
    channels: Vec<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let Command::Test(args) = &args.command;
    let client = cx.client()?;
    let tests = cx.wait_for(async { Ok(calls::notify_test(&client, &args.channels).await?) })?;
    if cx.json() {
        ui::json(&tests)?;
    } else {
        ui::text(table(&tests).draw(Canvas::here().width))?;
    }
    let failed = tests.iter().filter(|test| !test.delivered).count();
    match (tests.len(), failed) {
        (0, _) => Err(CommandError::new(Kind::User, "no channel is configured, so nobody would be told")
            .hint("`ao config-help` shows how to add one under `notifiers`")),
        (_, 0) => Ok(()),
        (all, failed) => {
            let error = format!("{failed} of {} failed", ui::count(all as u64, "channel"));
            Err(CommandError::new(Kind::User, error))
        }
    }
}

fn table(tests: &[ChannelTest]) -> Table {
    let mut table = Table::new(&[
        Column::new("CHANNEL"),
        Column::optional("PLUGIN"),
        Column::new("RESULT"),
        Column::optional("WHERE"),
        Column::new("PROBLEM"),
    ]);
    for test in tests {
        let (result, style) = if test.delivered { ("delivered", ui::GOOD) } else { ("failed", ui::ERROR) };
        table.row([
            Cell::new(&test.channel),
            Cell::new(&test.plugin),
            Cell::styled(result, style),
            Cell::new(test.target.as_deref().unwrap_or_default()),
            Cell::new(test.problem.as_deref().unwrap_or_default()),
        ]);
    }
    table
}
