//! `cargo xtask agents`: installs the real agents, and runs them in a box.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use crate::process::{cargo, forward, root, target, watch};
use crate::tools::{self, NeededTool};

/// Install pinned versions of the real agents, and run a turn of each in a box with a stand-in for the model APIs.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Names of agents, `--all`, `--list`, `--run -- CMD` and more, listed by `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// The programs that make a box.
pub(crate) const BOX: [NeededTool; 4] = [tools::UNSHARE, tools::MOUNT, tools::IP, tools::GIT];

/// The exit code of the program on a machine that cannot install or run the agents.
pub(crate) const UNAVAILABLE: i32 = 3;

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    tools::ensure(&[tools::CC])?;
    if !args.args.iter().any(|arg| arg == "--list" || arg == "--help" || arg == "-h") {
        tools::ensure(&[&BOX[..], &[tools::NPM]].concat())?;
    }
    let built = watch(cargo("build --package ao-testkit --features standin --bins"))?;
    ensure!(built.status.success(), "it does not build");
    let mut command = program();
    command.args(&args.args);
    forward(command)
}

/// Creates the command of the built program.
pub(crate) fn program() -> Command {
    let mut command = Command::new(target().join("debug/real-agents"));
    command.current_dir(root());
    command
}
