//! The hook that tmux runs when an agent has ended.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::super::attempt_dir;
use super::{FINISH, HelperError, failed};
use crate::host::ProgramExit;

/// Notifies the output recorder, so that the exit is recorded after the last output. `status` is empty for an end by a
/// signal.
pub(super) fn died(attempt_dir: &Path, status: Option<&str>) -> Result<(), HelperError> {
    let exit = ProgramExit::now(status.and_then(|status| status.parse().ok()), None);
    let json = serde_json::to_vec(&exit).map_err(|err| failed("the exit cannot be said", &err))?;
    // Fails if no recorder has the other end open: then there is none to wait for.
    let log = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(attempt_dir.join(FINISH));
    match log.and_then(|mut log| log.write_all(&json)) {
        Ok(()) => Ok(()),
        Err(_) => attempt_dir::write_exit(attempt_dir, exit)
            .map_err(|err| failed("the exit cannot be written down", &err)),
    }
}
