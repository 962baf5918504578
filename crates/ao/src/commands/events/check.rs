//! `ao events check`

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::ui;

/// Check the event log for damage
///
/// Checks the file with SQLite, the sequence of event numbers, that each event and document is JSON, and the
/// checksums of the snapshots. Works while ao runs and changes nothing in the log; SQLite may leave `ao.db-wal` and
/// `ao.db-shm` beside it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao events check
  ao events check --data-dir /mnt/old/ao")]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, cx: &Context) -> Result<(), CommandError> {
    let dir = cx.data_dir()?;
    let report = super::open(&dir)?.check()?;
    if report.is_ok() {
        let range = match report.events {
            0 => "no events yet".to_owned(),
            events => format!("{}, {} to {}", ui::count(events, "event"), report.first, report.last),
        };
        let snapshots = ui::count(report.snapshots as u64, "snapshot");
        ui::line(format_args!("{dir}: no faults found; {range}, {snapshots}"))?;
        return Ok(());
    }
    for problem in &report.problems {
        ui::line(problem)?;
    }
    let faults = ui::count(report.problems.len() as u64, "fault");
    Err(CommandError::environment(format!("the event log in `{dir}` has {faults}"))
        .hint("`ao events export` saves what can be read")
        .hint("`ao events backup --help` describes how to restore a backup"))
}
