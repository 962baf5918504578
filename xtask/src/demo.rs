//! `cargo xtask demo`: the README's run command.

use std::process::ExitCode;

use anyhow::Result;

use crate::process::{cargo, forward};

/// Build ao and show what it does.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Handed on to `ao demo`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut command = cargo("run --quiet --package ao -- demo");
    // The demo belongs to whoever calls it: paths given to it are seen from their folder.
    command.current_dir(std::env::current_dir()?).args(&args.args);
    forward(command)
}
