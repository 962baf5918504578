//! Puts a text in the place of a file, whole or not at all.

use std::io::{self, Write};

use camino::Utf8Path;

/// Writes a file so that whoever reads it sees the old text or the new one, and never half of either.
///
/// Its permissions stay, and so does a link that leads to it.
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

/// A temporary file is for its owner only. A new configuration is for whoever can read the repository.
#[cfg(unix)]
fn readable(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}
