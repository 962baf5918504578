//! `ao`: many AI coding agents at once, steered from one program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao::main()
}
