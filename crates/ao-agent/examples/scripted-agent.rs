//! The scripted terminal agent, built beside the tests that need it when this crate is tested alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_testkit::scripted::main()
}
