//! `ao events`: the event log.

mod backup;
mod check;
mod export;
mod prune;
mod watch;

use std::fs::File;
use std::io::ErrorKind;

use ao_store::Store;
use camino::Utf8Path;

use crate::cli::context::Context;
use crate::error::CommandError;

/// Show events, or maintain the event log: export, check, back up, prune
///
/// Without a subcommand, prints one event per line: its number, the local time, the session and what happened.
/// `--json` prints the events as stored, for programs. The subcommands work on the log itself, with or without a
/// daemon.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  ao events                       the latest
  ao events -f                    what happens, as it happens
  ao events -f --session my-app-3 --json
  ao events --after 1000
  ao events check")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    watch: watch::WatchArgs,
}

subcommands! {
    Export(export::Args) => export::run,
    Check(check::Args) => check::run,
    Backup(backup::Args) => backup::run,
    Prune(prune::Args) => prune::run,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Some(command) => command.run(cx),
        None => watch::run(&args.watch, cx),
    }
}

/// Opens the log for reading, with or without a running daemon.
fn open(data_dir: &Utf8Path) -> Result<Store, CommandError> {
    let named = "name the directory with `--data-dir` or AO_DATA_DIR";
    match File::open(data_dir.join("ao.db")).map_err(|err| err.kind()) {
        Err(ErrorKind::NotFound) => Err(CommandError::user(format!("there is no event log in `{data_dir}`"))
            .hint(format!("{named}; ao creates the log when it first runs"))),
        Err(ErrorKind::NotADirectory) => {
            Err(CommandError::user(format!("`{data_dir}` is not a directory")).hint(named))
        }
        Err(ErrorKind::PermissionDenied) => Err(CommandError::environment(format!(
            "the event log in `{data_dir}` cannot be read: permission denied"
        ))
        .hint(format!("ask its owner, or {named}"))),
        // Other problems are reported together with those of the log.
        Ok(_) | Err(_) => Ok(Store::open_read_only(data_dir)?),
    }
}
