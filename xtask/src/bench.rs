//! `cargo xtask bench`: compares speed with its budgets.
//!
//! Each bench is a plain program that prints its own table and fails if a number is over its budget. It is not part of
//! `cargo xtask test`, because its result depends on the load of the machine.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;

use crate::process::{cargo, root, shown, success_if, target};

/// Run the benchmarks and compare them with their budgets.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only these.
    #[arg(value_name = "BENCH", value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,
}

/// Benches of libraries, by the names of their targets, and the options of cargo for their profile.
const LIBRARIES: (&[&str], &str) =
    (&["store", "core", "simulation", "create", "shim", "failure", "forecast"], "");

/// Benches of the program. They measure what ships, and a folder of their own keeps it from being replaced.
const PROGRAM: (&[&str], &str) =
    (&["sessions", "surface", "forge", "queue", "reactions"], " --profile bench-program");

fn names() -> Vec<&'static str> {
    [LIBRARIES.0, PROGRAM.0].concat()
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut results = Vec::new();
    for (benches, profile) in [LIBRARIES, PROGRAM] {
        let is_chosen = |bench: &&str| args.only.is_empty() || args.only.iter().any(|name| name == bench);
        let chosen: Vec<&str> = benches.iter().copied().filter(is_chosen).collect();
        if chosen.is_empty() {
            continue;
        }
        // Built at once: each choice of packages has other features, with which their dependencies would be built again. And
        // built before they run, because cargo's exit code does not distinguish a number over its budget from broken code.
        let targets: String = chosen.iter().map(|bench| format!(" --bench {bench}")).collect();
        let built = cargo(&format!("bench --workspace{profile}{targets} --no-run")).status()?;
        ensure!(built.success(), "the benches do not build");
        if profile == PROGRAM.1 {
            let built = cargo(&format!("build --workspace{profile} --bin scripted-agent")).status()?;
            ensure!(built.success(), "the agent of the benches does not build");
        }
        // Start and memory depend on how the program is linked, so the one that users get is measured.
        if profile == PROGRAM.1 || chosen.contains(&"shim") {
            let built = cargo("build --release --package ao").status()?;
            ensure!(built.success(), "the program does not build");
        }
        for bench in chosen {
            say!("\n── {bench} ──");
            let mut command = cargo(&format!("bench --workspace{profile} --bench {bench}"));
            // Absolute, because each bench runs in the folder of its crate.
            command.env("AO_RELEASED", root().join(target()).join("release/ao"));
            say!("$ {}", shown(&command));
            results.push((bench, command.status()?.success()));
        }
    }

    say!("\n── summary ──");
    for (bench, ok) in &results {
        say!("{bench:<12} {}", if *ok { "ok" } else { "over" });
    }
    let ok = results.iter().filter(|(_, ok)| *ok).count();
    say!("{ok} ok, {} over", results.len() - ok);
    Ok(success_if(ok == results.len()))
}
