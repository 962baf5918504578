//! Whether a process works in a folder.

use std::path::Path;

/// Looks for a process whose working directory is in the folder. `None` where the system does not tell.
///
/// Processes that we may not look at, of other users or with more rights than ours, are passed over: an agent of ours is
/// none of them. To take them for unknown would keep every worktree for ever on nearly any system.
pub(super) async fn any_inside(folder: &Path) -> Option<bool> {
    let folder = folder.canonicalize().ok()?;
    // Some hundred small reads from the kernel's memory; still nothing to hold up the others for.
    tokio::task::spawn_blocking(move || look(&folder)).await.ok()?
}

#[cfg(target_os = "linux")]
fn look(folder: &Path) -> Option<bool> {
    use std::fs;
    use std::io::ErrorKind;

    let mut unsure = false;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        if !entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        match fs::read_link(entry.path().join("cwd")) {
            Ok(cwd) if cwd.starts_with(folder) => return Some(true),
            Ok(_) => {}
            Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {}
            // It may have ended meanwhile, and then it is in no folder.
            Err(_) => unsure |= entry.path().exists(),
        }
    }
    if unsure { None } else { Some(false) }
}

#[cfg(not(target_os = "linux"))]
fn look(_folder: &Path) -> Option<bool> {
    None
}
