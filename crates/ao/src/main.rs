//! `ao`: many AI coding agents at once, steered from one program.

mod cli;
mod clock;
mod commands;
mod daemon;
mod error;
mod paths;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => err.show(),
    }
}
