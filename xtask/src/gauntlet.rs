//! `cargo xtask gauntlet`: many scripted issues through the real program, with everything going wrong that does go wrong.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use crate::process::{cargo, forward, root, watch};
use crate::tools;

/// Send many issues through the program while everything goes wrong that does go wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many issues.
    #[arg(long, default_value_t = 40)]
    issues: usize,
    /// The seed that deals the troubles.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds to try, from that one on.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// How often the daemon is killed [default: once for every four issues].
    #[arg(long)]
    kills: Option<usize>,
    /// Leave the place as it is when something did not hold, and say where.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    tools::ensure(&[tools::GIT, tools::CC])?;
    // The program, the agent and the gauntlet itself, which finds the other two beside it.
    let built = watch(cargo("build --package ao --package ao-testkit --bins --example gauntlet"))?;
    ensure!(built.status.success(), "it does not build");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let mut command = Command::new(target.join("debug/examples/gauntlet"));
    for (flag, value) in [("--issues", args.issues as u64), ("--seed", args.seed), ("--seeds", args.seeds)] {
        command.arg(flag).arg(value.to_string());
    }
    if let Some(kills) = args.kills {
        command.arg("--kills").arg(kills.to_string());
    }
    if args.keep {
        command.arg("--keep");
    }
    forward(command)
}
