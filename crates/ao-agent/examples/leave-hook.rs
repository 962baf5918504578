//! Does what `ao hook` does, without `ao`: leaves the event on stdin in the spool that the environment names.

use std::process::ExitCode;

use ao_agent::hook::{Place, leave};

fn main() -> ExitCode {
    let left = Place::from_environment(|name| std::env::var(name).ok())
        .and_then(|place| leave(&place, None, std::io::stdin().lock()));
    match left {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}
