//! The scripted terminal agent as a program; see `ao_testkit::scripted`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_testkit::scripted::main()
}
