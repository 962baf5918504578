//! What the program `ao` is made of: many AI coding agents at once, steered from one program.
//!
//! A library only so that its parts can be tried from tests; the program is all that is meant for others.

mod cli;
mod clock;
mod commands;
mod daemon;
mod error;
mod paths;
pub mod power;
mod ui;

use std::process::ExitCode;

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    // Before anything else is set up: there is one of these for every session, and it is to stay small.
    if std::env::args_os().nth(1).is_some_and(|arg| arg == daemon::SHIM) {
        return ao_runtime::process::shim::run();
    }
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => err.show(),
    }
}
