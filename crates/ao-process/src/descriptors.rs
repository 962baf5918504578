//! Keeps inherited descriptors from the programs that we start.
//!
//! Descriptors that this program opens are close-on-exec. Those that a shell had open when it ran `ao` are not: they
//! would pass to the daemon, from there to every agent, and keep files, pipes and ports of that shell open for as long
//! as those run.

use std::fs;
use std::io;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// The first descriptor after stdin, stdout and stderr.
const FIRST: i32 = 3;

/// Marks all descriptors but the standard ones close-on-exec, so that no program started from now on inherits them.
pub fn keep_from_children() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let Some(descriptor) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if descriptor < FIRST {
            continue;
        }
        match fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
            // Closed meanwhile: the descriptor of this listing, or one of another thread.
            Ok(_) | Err(nix::errno::Errno::EBADF) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(())
}
