//! `ao check flakes`: flaky failures.

use ao_api::{Flake, Flakes};

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_id;
use crate::error::CommandError;
use crate::show::{Canvas, TableCell, TextTable};
use crate::ui;

/// List failures that went away when the same commit was checked again
///
/// These failures disturb no agent. Next time, the check is run more often before the failure is believed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao check flakes
  ao check flakes --json | jq -r '.flakes[] | select(.times > 3) | .check'")]
pub(crate) struct Args {
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let listed = cx.call(async |client| {
        let project = project_id(client, args.project.as_deref()).await?;
        Ok(client.flakes(&project).await?)
    })?;
    cx.print(&listed, || {
        if listed.flakes.is_empty() {
            ui::note("no flaky failures yet");
            return Ok(());
        }
        ui::text(table(&listed).draw(Canvas::here().width))
    })
}

fn table(listed: &Flakes) -> TextTable {
    let mut table = TextTable::new(&["CHECK", "TIMES", "LAST?", "WHAT FAILED"]);
    for Flake { check, times, last_at, excerpt, .. } in &listed.flakes {
        table.row([
            TableCell::new(check),
            TableCell::new(times.to_string()),
            TableCell::new(last_at.strftime("%F %H:%MZ").to_string()),
            TableCell::new(excerpt),
        ]);
    }
    table
}
