//! `cargo xtask gauntlet`: sends many scripted issues through the real program while faults are injected.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use crate::process::{cargo, forward, target, watch};
use crate::tools;

/// Send many issues through the program while faults are injected.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Arguments of the gauntlet: `--issues`, `--seed` and more, listed by its `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    tools::ensure(&[tools::GIT, tools::CC])?;
    // The program, the agent and the gauntlet itself, which finds the other two beside it.
    let built = watch(cargo("build --package ao --package ao-testkit --bins --example gauntlet"))?;
    ensure!(built.status.success(), "it does not build");
    let mut command = Command::new(target().join("debug/examples/gauntlet"));
    command.args(&args.args);
    forward(command)
}
