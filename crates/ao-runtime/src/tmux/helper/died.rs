//! The hook by which tmux tells that an agent has ended.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::super::place;
use super::{FINISH, HelperError, failed};
use crate::host::Exit;

/// Tells whoever keeps the output, so that the exit is written down after the last of it. `status` is empty for an end by
/// a signal.
pub(super) fn died(place: &Path, status: Option<&str>) -> Result<(), HelperError> {
    let exit = Exit::now(status.and_then(|status| status.parse().ok()), None);
    let json = serde_json::to_vec(&exit).map_err(|err| failed("the exit cannot be said", &err))?;
    // Fails if nobody has the other end open: then there is nobody to wait for.
    let log =
        OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(place.join(FINISH));
    match log.and_then(|mut log| log.write_all(&json)) {
        Ok(()) => Ok(()),
        Err(_) => {
            place::write_exit(place, exit).map_err(|err| failed("the exit cannot be written down", &err))
        }
    }
}
