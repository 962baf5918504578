//! The helper of the tmux runtime as a stand-alone program. `ao` has it as a hidden command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_runtime::tmux::helper::main(std::env::args_os().skip(1))
}
