//! `ao events backup`

use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::ui;

/// Copy the event log to a new file, and check the copy
///
/// Works while ao runs. A log that SQLite finds damaged is not copied; other errors are copied and counted, and the
/// command then fails.
///
/// To restore a backup, stop ao, move `ao.db`, `ao.db-wal` and `ao.db-shm` out of the data directory, and copy the
/// backup there as `ao.db`. Move all three, because SQLite would replay an old `ao.db-wal` over the backup.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  ao events backup ~/ao-backup.db")]
pub(crate) struct Args {
    /// The new file, which must not exist yet
    file: Utf8PathBuf,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let dir = cx.data_dir()?;
    let store = super::open(&dir)?;
    refuse_bad_name(&args.file)?;
    let report = store.backup(&args.file)?;
    if report.is_ok() {
        let events = ui::count(report.events, "event");
        ui::line(format_args!("{}: {events} copied from `{dir}`, no faults found", args.file))?;
        return Ok(());
    }
    let faults = ui::count(report.problems.len() as u64, "fault");
    ui::line(format_args!("{}: copied, with {faults}", args.file))?;
    Err(CommandError::environment(format!("the event log in `{dir}` has {faults}, and so has its backup"))
        .hint("`ao events check` names them"))
}

fn refuse_bad_name(file: &Utf8Path) -> Result<(), CommandError> {
    let wrong = |what: String| Err(CommandError::user(what));
    if file.as_str().is_empty() {
        return wrong("the name of the backup is empty".into());
    }
    // Not `exists`, which follows a link and finds nothing behind a dangling one.
    if file.symlink_metadata().is_ok() {
        return wrong(format!("`{file}` already exists and was not changed"))
            .map_err(|err| err.hint("choose another name for the backup"));
    }
    let parent = file.parent().filter(|parent| !parent.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    match parent.metadata() {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            wrong(format!("the directory `{parent}` does not exist; make it first"))
        }
        Err(err) if err.kind() == ErrorKind::NotADirectory => wrong(format!("`{parent}` is not a directory")),
        Ok(found) if !found.is_dir() => wrong(format!("`{parent}` is not a directory")),
        // Other problems are reported when the file is created.
        Ok(_) | Err(_) => Ok(()),
    }
}
