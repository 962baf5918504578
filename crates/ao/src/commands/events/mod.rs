//! `ao events`: the event log from outside.

mod backup;
mod check;
mod export;

use ao_store::Store;
use camino::Utf8Path;

use crate::error::{CommandError, Kind};

/// Look after the event log: export, check, back up
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Export(export::Args),
    Check(check::Args),
    Backup(backup::Args),
}

pub(crate) fn run(command: &Command) -> Result<(), CommandError> {
    match command {
        Command::Export(args) => export::run(args),
        Command::Check(args) => check::run(args),
        Command::Backup(args) => backup::run(args),
    }
}

/// Opens the log for reading, beside a running ao or without one.
fn open(data_dir: &Utf8Path) -> Result<Store, CommandError> {
    let log = data_dir.join("ao.db");
    if !log.exists() {
        return Err(CommandError::new(Kind::User, format!("there is no event log in `{data_dir}`")).hint(
            "name the directory with `--data-dir` or AO_DATA_DIR; ao makes the log when it first runs",
        ));
    }
    Ok(Store::open_read_only(data_dir)?)
}
