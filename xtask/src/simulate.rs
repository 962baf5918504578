//! `cargo xtask simulate`: the engine in a world that tries to break it.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::process::{cargo, forward};

/// Run the engine in simulated worlds full of faults, one for each seed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Args {
    /// How many seeds to try [default: 1000].
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// The first of them [default: 0].
    #[arg(long, value_name = "S")]
    pub(crate) from: Option<u64>,
    /// Replay this one seed, as printed by a failing run.
    #[arg(long, value_name = "X", conflicts_with_all = ["seeds", "from"])]
    pub(crate) seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut command = command(args);
    // Or cargo would have its say about a simulation whose reader has gone.
    command.env("CARGO_TERM_QUIET", "true");
    forward(command)
}

/// In release mode, because the number of worlds seen is what finds faults.
pub(crate) fn command(args: &Args) -> Command {
    let mut command = cargo("run --release --package ao-testkit --bin simulate --");
    for (flag, value) in [("--seeds", args.seeds), ("--from", args.from), ("--seed", args.seed)] {
        if let Some(value) = value {
            command.arg(flag).arg(value.to_string());
        }
    }
    command
}
