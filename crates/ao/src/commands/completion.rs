//! `ao completion`: what shells need to complete our words.

use clap_complete::env::Shells;

use crate::cli::COMPLETE;
use crate::cli::context::Context;
use crate::error::{CommandError, Kind};

/// Print the completion script for a shell
///
/// Commands and options are completed, and the names of the sessions and projects that there are at that moment.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo 'source <(ao completion bash)' >> ~/.bashrc
  echo 'source <(ao completion zsh)' >> ~/.zshrc        behind compinit
  ao completion fish > ~/.config/fish/completions/ao.fish
  ao completion elvish >> ~/.config/elvish/rc.elv
  ao completion powershell >> $PROFILE")]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_parser = ["bash", "zsh", "fish", "elvish", "powershell"])]
    shell: String,
}

pub(crate) fn run(args: &Args, _cx: &Context) -> Result<(), CommandError> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(&args.shell)
        .ok_or_else(|| CommandError::new(Kind::Bug, format!("no completion is known for {}", args.shell)))?;
    // The script calls `ao` again for each completion, by its name: what is installed later is found too.
    let mut script = Vec::new();
    shell
        .write_registration(COMPLETE, "ao", "ao", "ao", &mut script)
        .map_err(|err| CommandError::new(Kind::Bug, err))?;
    use std::io::Write;
    Ok(std::io::stdout().write_all(&script)?)
}
