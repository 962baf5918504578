//! `cargo xtask agents`: installs the real agents, and runs commands beside them in a box.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use crate::process::{cargo, forward, root, watch};
use crate::tools;

/// Install pinned versions of the real agents, and run commands in a box with a stand-in for the model APIs.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Names of agents, `--all`, `--list`, `--run -- CMD` and more, listed by `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// The exit code of the program on a machine that cannot install or run the agents.
pub(crate) const UNAVAILABLE: i32 = 3;

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    tools::ensure(&[tools::CC])?;
    let built = watch(cargo("build --quiet --package ao-testkit --features standin --bins"))?;
    ensure!(built.status.success(), "it does not build");
    let mut command = program();
    command.args(&args.args);
    forward(command)
}

/// Creates the command of the built program. It keeps the agents in the target folder of this run.
pub(crate) fn program() -> Command {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let mut command = Command::new(target.join("debug/real-agents"));
    command.current_dir(root());
    command
}
