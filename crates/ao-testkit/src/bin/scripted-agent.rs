//! The scripted terminal agent as a program; `ao_testkit::scripted` tells what it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_testkit::scripted::main()
}
