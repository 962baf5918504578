//! A stand-alone shim, for the tests and benches of this crate. The product's is `ao shim`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ao_runtime::process::shim::run()
}
