//! Keeping other programs of the same user out of this one.

use std::io;

/// Closes this process to other programs of the same user: none of them can read its memory, its environment or its open
/// files, or trace it. Root still can. Programs that are started from here are as open as any.
pub fn close_to_others() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
