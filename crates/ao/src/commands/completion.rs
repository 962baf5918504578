//! `ao completion`: completion scripts for shells.

use clap_complete::env::Shells;

use crate::cli::COMPLETE;
use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};

/// Print the completion script for a shell
///
/// Completes commands and options, and the names of current sessions and projects.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo 'source <(ao completion bash)' >> ~/.bashrc
  echo 'source <(ao completion zsh)' >> ~/.zshrc        behind compinit
  ao completion fish > ~/.config/fish/completions/ao.fish
  ao completion elvish >> ~/.config/elvish/rc.elv
  ao completion powershell >> $PROFILE")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_parser = ["bash", "zsh", "fish", "elvish", "powershell"])]
    shell: String,
}

pub(crate) fn run(args: &Args, _cx: &Context) -> Result<(), CommandError> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell).ok_or_else(|| {
        CommandError::new(FailureKind::Bug, format!("no completion is known for {}", args.shell))
    })?;
    // The script runs `ao` by name for each completion, so it works with later versions too.
    let mut script = Vec::new();
    shell
        .write_registration(COMPLETE, "ao", "ao", "ao", &mut script)
        .map_err(|err| CommandError::new(FailureKind::Bug, err))?;
    use std::io::Write;
    Ok(std::io::stdout().write_all(&script)?)
}
