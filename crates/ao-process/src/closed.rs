//! Closes this process to other programs of the same user.

use std::io;

/// Makes this process inaccessible to other programs of the same user: they can neither read its memory, its
/// environment or its open files, nor trace it. Root still can. Programs started from here are not protected.
pub fn close_to_others() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
