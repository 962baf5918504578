//! `ao events check`

use crate::error::CommandError;
use crate::paths::DataDir;
use crate::ui;

/// Read every byte of the event log and say whether it is whole
///
/// Changes nothing, and can be used while ao runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    data_dir: DataDir,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let dir = args.data_dir.path()?;
    let report = super::open(&dir)?.check()?;
    if report.is_ok() {
        let range = match report.events {
            0 => "no events yet".to_owned(),
            events => format!("{events} events, {} to {}", report.first, report.last),
        };
        ui::line(format_args!("{dir}: whole; {range}, {} snapshots", report.snapshots))?;
        return Ok(());
    }
    for problem in &report.problems {
        ui::line(problem)?;
    }
    Err(CommandError::environment(format!("the event log in `{dir}` has {} faults", report.problems.len()))
        .hint("keep the file, and put a backup in its place; `ao events export` saves what can be read"))
}
