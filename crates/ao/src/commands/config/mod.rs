//! `ao config`: shows, checks and edits the configuration.

pub(super) mod check;
mod edit;
mod path;
mod show;

use crate::error::CommandError;

subcommands! {
    /// Check, show and change the configuration
    ///
    /// The configuration is the nearest `agent-orchestrator.yaml` in this folder or one above it, merged over your own in
    /// `~/.config/ao/config.yaml`. `ao config-help` describes all keys.
    #[command(after_help = "Examples:
  ao config check
  ao config set defaults.runtime process
  ao config unset projects.my-app.agent
  ao config show")]
    pub(crate) struct Args;

    Check(check::Args) => check::run,
    Show(show::Args) => show::run,
    Set(edit::SetArgs) => edit::set,
    Unset(edit::UnsetArgs) => edit::unset,
    Path(path::Args) => path::run,
}

fn no_file() -> CommandError {
    CommandError::config("there is no configuration file here")
        .hint("write one with `ao init`, or name one with `--config` or AO_CONFIG")
}
