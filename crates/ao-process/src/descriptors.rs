//! Descriptors that came from whoever started us, and are meant for nobody whom we start.
//!
//! What this program opens itself is closed by the next `exec`. What a shell had open when it ran `ao` is not: it would go to
//! the daemon, from there to every agent, and keep files, pipes and ports of that shell open for as long as those live.

use std::fs;
use std::io;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// The first descriptor behind stdin, stdout and stderr.
const FIRST: i32 = 3;

/// Keeps all descriptors but the standard ones from every program that is started from now on.
pub fn keep_from_children() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let Some(descriptor) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if descriptor < FIRST {
            continue;
        }
        match fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
            // The one by which the list is read, or of another thread, has been closed since.
            Ok(_) | Err(nix::errno::Errno::EBADF) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(())
}
