//! The helper of the tmux runtime, for the tests that run the scripted agent in tmux.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_runtime::tmux::helper::main(std::env::args_os().skip(1))
}
