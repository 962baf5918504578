//! What the program `ao` is made of: many AI coding agents at once, steered from one program.
//!
//! A library only so that its parts can be tried from tests; the program is all that is meant for others.

mod background;
mod calls;
mod change;
mod chores;
mod cli;
pub mod clock;
pub mod clone;
mod commands;
mod complete;
mod context;
pub mod daemon;
pub mod desktop;
pub mod error;
mod follow;
pub mod git_url;
mod help;
pub mod host;
mod initial;
mod known_agents;
mod logs;
mod paths;
pub mod power;
mod program;
pub mod reference;
pub mod repository;
pub mod service;
mod settings;
pub mod show;
mod span;
mod ui;

use std::io::IsTerminal;
use std::process::ExitCode;

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    // Before anything else is set up: there is one of these for every session, and it is to stay small.
    match std::env::args_os().nth(1) {
        // Whoever types it by hand hears from the command line that there is no such command for people. With further words
        // it is a shim's own call: it gives a program its terminal, and has that terminal as its input.
        Some(arg)
            if arg == daemon::SHIM && (std::env::args_os().len() > 2 || !std::io::stdin().is_terminal()) =>
        {
            return ao_runtime::process::shim::run();
        }
        // The whole command line need not be put together for that.
        Some(arg) if (arg == "--version" || arg == "-V") && std::env::args_os().len() == 2 => {
            return version();
        }
        Some(arg) if arg == daemon::TMUX_HELPER => {
            return ao_runtime::tmux::helper::main(std::env::args_os().skip(2));
        }
        _ => {}
    }
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => err.show(),
    }
}

fn version() -> ExitCode {
    match ui::line(concat!("ao ", env!("CARGO_PKG_VERSION"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => error::CommandError::from(err).show(),
    }
}
