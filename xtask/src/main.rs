//! The project's automation: `cargo xtask COMMAND`.
//!
//! It starts other programs, parses their output and sums up what passed and what failed. It does not depend on `ao`
//! itself, so that it builds within seconds on a fresh machine.

#[macro_use]
mod say;

mod agents;
mod api_fuzz;
mod bench;
mod demo;
mod fuzz;
mod gauntlet;
mod generate;
mod process;
mod simulate;
mod soak;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's automation.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct XtaskCli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Test(test::Args),
    Demo(demo::Args),
    Simulate(simulate::Args),
    Gauntlet(gauntlet::Args),
    Soak(soak::Args),
    Agents(agents::Args),
    Bench(bench::Args),
    Fuzz(fuzz::Args),
    ApiFuzz(api_fuzz::Args),
    Generate(generate::Args),
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    let result = match XtaskCli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Gauntlet(args) => gauntlet::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Agents(args) => agents::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::ApiFuzz(args) => api_fuzz::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Tidy(args) => tidy::run(&args),
    };
    result.unwrap_or_else(|err| {
        say::aside(format_args!("error: {err:#}"));
        ExitCode::FAILURE
    })
}
