//! `cargo xtask bench`: compares speed with its budgets.
//!
//! Each bench is a plain program that prints its own table and fails if a number is over its budget. It is not part of
//! `cargo xtask test`, because its result depends on the load of the machine.

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use crate::process::{cargo, shown, success_if};

/// Run the benchmarks and compare them with their budgets.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only these.
    #[arg(value_name = "BENCH", value_parser = PossibleValuesParser::new(BENCHES.iter().map(|(_, bench)| *bench)))]
    only: Vec<String>,
}

/// All benches: package and bench target.
const BENCHES: &[(&str, &str)] = &[
    ("ao-store", "store"),
    ("ao-core", "core"),
    ("ao-daemon", "simulation"),
    ("ao-workspace", "create"),
    ("ao-runtime", "shim"),
    ("ao", "sessions"),
    ("ao", "surface"),
    ("ao", "forge"),
    ("ao", "queue"),
    ("ao", "reactions"),
    ("ao-scm", "failure"),
    ("ao-git", "forecast"),
];

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut results = Vec::new();
    for (package, bench) in BENCHES {
        if !args.only.is_empty() && !args.only.iter().any(|name| name == bench) {
            continue;
        }
        say!("\n── {bench} ──");
        results.push((bench, verdict(package, bench)?));
    }

    say!("\n── summary ──");
    for (bench, verdict) in &results {
        say!("{bench:<12} {verdict}");
    }
    let ok = results.iter().filter(|(_, verdict)| *verdict == "ok").count();
    say!("{ok} ok, {} not", results.len() - ok);
    Ok(success_if(ok == results.len()))
}

fn verdict(package: &str, bench: &str) -> Result<&'static str> {
    let mut command = cargo(&format!("bench --package {package} --bench {bench}"));
    say!("$ {}", shown(&command));
    // It measures the program itself, which a bench of another package does not build.
    if bench == "shim" && !cargo("build --release --package ao").status()?.success() {
        return Ok("does not build");
    }
    // Built first and separately: cargo's exit code does not distinguish a number over its budget from broken code.
    if !cargo(&format!("bench --package {package} --bench {bench} --no-run")).status()?.success() {
        return Ok("does not build");
    }
    Ok(if command.status()?.success() { "ok" } else { "over" })
}
