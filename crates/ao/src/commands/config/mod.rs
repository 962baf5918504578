//! `ao config`: shows, checks and edits the configuration.

mod check;
mod edit;
mod path;
mod show;

use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};

/// Check, show and change the configuration
///
/// The configuration is the nearest `agent-orchestrator.yaml` in this folder or one above it, merged over your own in
/// `~/.config/ao/config.yaml`. `ao config-help` describes all keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config check
  ao config set defaults.runtime process
  ao config unset projects.my-app.agent
  ao config show")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Show(show::Args),
    Set(edit::SetArgs),
    Unset(edit::UnsetArgs),
    Path(path::Args),
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Command::Check(args) => check::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::Set(args) => edit::set(args, cx),
        Command::Unset(args) => edit::unset(args, cx),
        Command::Path(args) => path::run(args, cx),
    }
}

fn no_file() -> CommandError {
    CommandError::new(FailureKind::Config, "there is no configuration file here")
        .hint("write one with `ao init`, or name one with `--config` or AO_CONFIG")
}
