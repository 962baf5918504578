//! A shim, for the tests that run the scripted agent on the product's own runtime.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_runtime::process::shim::run()
}
