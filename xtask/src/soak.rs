//! `cargo xtask soak`: merges for minutes through the real program and measures what grows.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use crate::process::{cargo, forward, target, watch};
use crate::tools;

/// Merge for minutes, and print rates, memory, descriptors, refs, objects and database size.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Arguments of the soak: `--minutes`, `--kills` and more, listed by its `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    tools::ensure(&[tools::GIT, tools::CC])?;
    // Optimised, because rates are measured.
    let built = watch(cargo("build --release --package ao --package ao-testkit --bins --example soak"))?;
    ensure!(built.status.success(), "it does not build");
    let mut command = Command::new(target().join("release/examples/soak"));
    command.args(&args.args);
    forward(command)
}
