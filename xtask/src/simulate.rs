//! `cargo xtask simulate`: runs the engine, its looks and its jobs in a world full of faults.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::process::{cargo, forward};

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
    let mut command = command(args);
    // Keeps cargo from reporting an error when the reader of the output has gone.
    command.env("CARGO_TERM_QUIET", "true");
    forward(command)
}

/// Creates the command. Built like the tests, with the same features, so that most of it is built already.
pub(crate) fn command(args: &Args) -> Command {
    let mut command = cargo("run --example simulate --");
    for (flag, value) in [("--seeds", args.seeds), ("--from", args.from), ("--seed", args.seed)] {
        if let Some(value) = value {
            command.arg(flag).arg(value.to_string());
        }
    }
    command
}
