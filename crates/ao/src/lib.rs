//! The program `ao`: many AI coding agents at once, managed from one program.
//!
//! Most people use the program. To embed it in your own, start with [`Orchestrator`] and [`run_as_helper`]; see
//! `docs/embedding.md`. Everything else is public only for tests.

#[macro_use]
mod subcommands;

pub mod cli;
mod client;
mod commands;
mod config;
pub mod error;
mod findings;
pub mod git;
pub mod service;
pub mod show;
pub mod system;
mod ui;

use std::io::IsTerminal;
use std::process::ExitCode;

use ao_daemon::config::combination;
use ao_daemon::program;
pub use ao_daemon::{Orchestrator, clock, daemon, orchestrator, power, repository, terminals};
/// The ports and their contracts, for adapters of your own.
pub use {ao_agent, ao_core, ao_ports};

/// Runs the command on the command line.
pub fn main() -> ExitCode {
    // Before anything else is set up: there is one of these for every session, and it must stay small.
    if let Some(code) = helper() {
        return code;
    }
    // Without building the whole command line.
    if matches!(std::env::args_os().nth(1), Some(arg) if arg == "--version" || arg == "-V")
        && std::env::args_os().len() == 2
    {
        return version();
    }
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => err.show(),
    }
}

/// Runs a helper of agents, if this process was started as one, and then never returns.
///
/// Agents outlive the daemon, so each is held by a small process. For `ao` that is `ao` itself. A program that embeds
/// an [`Orchestrator`] is started for that too, and calls this first in its `main`, before it starts threads, reads
/// its arguments or prints.
pub fn run_as_helper() {
    if let Some(code) = helper() {
        // The helpers leave nothing in memory to clean up.
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
}

fn helper() -> Option<ExitCode> {
    let arg = std::env::args_os().nth(1)?;
    // On a terminal, the command line reports that there is no such command. With further arguments it is a shim's
    // own call: it gives a program its terminal, which is then its input.
    if arg == daemon::SHIM && (std::env::args_os().len() > 2 || !std::io::stdin().is_terminal()) {
        return Some(ao_runtime::process::shim::run());
    }
    #[cfg(target_os = "linux")]
    if arg == daemon::KEEPER && std::env::args_os().len() > 2 {
        return Some(ao_process::keep(std::env::args_os().skip(2)));
    }
    (arg == daemon::TMUX_HELPER).then(|| ao_runtime::tmux::helper::main(std::env::args_os().skip(2)))
}

fn version() -> ExitCode {
    match ui::line(concat!("ao ", env!("CARGO_PKG_VERSION"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => error::CommandError::from(err).show(),
    }
}
