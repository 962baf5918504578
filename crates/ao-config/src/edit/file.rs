//! Replaces a file atomically.

use std::io::{self, Write};

use camino::Utf8Path;

/// Writes a file atomically: a reader sees the old text or the new one, never a part of either.
///
/// Permissions are preserved, and so is a symbolic link to the file.
pub fn write(path: &Utf8Path, text: &str) -> io::Result<()> {
    let target = path.canonicalize_utf8().unwrap_or_else(|_| path.to_path_buf());
    let folder = match target.parent() {
        Some(folder) if !folder.as_str().is_empty() => folder,
        _ => Utf8Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".ao-config-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    match std::fs::metadata(&target) {
        Ok(old) => file.as_file().set_permissions(old.permissions())?,
        Err(err) if err.kind() == io::ErrorKind::NotFound => readable(file.as_file())?,
        Err(err) => return Err(err),
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|err| err.error)?;
    Ok(())
}

/// Makes a new configuration readable for all, because a temporary file is readable for its owner only.
#[cfg(unix)]
fn readable(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}
