//! `cargo xtask simulate`: runs the engine, its looks and its jobs in a world full of faults.

use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use crate::process::{cargo, forward, target, watch};

/// Run the engine, its looks and its jobs in simulated worlds full of faults, one for each seed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Args {
    /// Number of seeds to try [default: 1000].
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// The first seed [default: 0].
    #[arg(long, value_name = "S")]
    pub(crate) from: Option<u64>,
    /// Replay this one seed, as printed by a failing run.
    #[arg(long, value_name = "X", conflicts_with_all = ["seeds", "from"])]
    pub(crate) seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let built = watch(build())?;
    ensure!(built.status.success(), "it does not build");
    forward(command(args))
}

/// Creates the command that builds the simulation: with the features of the tests, so that most of it is built already.
pub(crate) fn build() -> Command {
    cargo("build --workspace --example simulate")
}

/// Creates the command that runs it.
pub(crate) fn command(args: &Args) -> Command {
    let mut command = Command::new(target().join("debug/examples/simulate"));
    for (flag, value) in [("--seeds", args.seeds), ("--from", args.from), ("--seed", args.seed)] {
        if let Some(value) = value {
            command.arg(flag).arg(value.to_string());
        }
    }
    command
}
