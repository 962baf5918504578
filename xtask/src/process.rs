//! Starting other programs: quietly watched, bounded in time, or in our place.

use std::path::Path;
use std::process::{Command, ExitCode};

/// The root of the repository, wherever xtask was called from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the root of the repository")
}

/// A `cargo` call in the root of the repository. `line` is split at spaces; add with `arg` what may hold one.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(line.split_whitespace()).current_dir(root());
    command
}

/// Our own exit code.
pub(crate) fn success_if(all_is_well: bool) -> ExitCode {
    if all_is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
