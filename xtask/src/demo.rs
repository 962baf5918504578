//! `cargo xtask demo`: the README's run command.

use std::process::ExitCode;

use anyhow::Result;

use crate::process::{cargo, forward};

/// Build ao and show what it does.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Arguments for `ao demo`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut command = cargo("run --quiet --package ao -- demo");
    // Relative paths in the arguments start at the caller's folder.
    command.current_dir(std::env::current_dir()?).args(&args.args);
    forward(command)
}
