//! Makes the files and folders of a read-only tree unwritable, and writable again before it is removed.
//!
//! By permissions, which stop accidental writes. A process that may change them still can; only a sandbox stops that.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::TreeError;

const WRITE: u32 = 0o222;

/// Removes the write permission from everything in a tree except `.git`.
pub(crate) fn close(tree: &Path) -> Result<(), TreeError> {
    change(tree, &|mode| mode & !WRITE).map_err(TreeError::file("close to writing", tree))
}

/// Restores the owner's write permission.
pub(crate) fn open(tree: &Path) -> Result<(), TreeError> {
    change(tree, &|mode| mode | 0o200).map_err(TreeError::file("open for writing", tree))
}

/// Changes the mode of everything in a folder. Links are skipped: their targets belong to others.
fn change(folder: &Path, mode_of: &dyn Fn(u32) -> u32) -> io::Result<()> {
    let meta = fs::symlink_metadata(folder)?;
    // Before its entries, so that a folder that is opened can be changed while it is walked; a closed one can still be
    // read.
    let set = |path: &Path, meta: &fs::Metadata| -> io::Result<()> {
        let mode = meta.permissions().mode();
        if mode_of(mode) != mode {
            fs::set_permissions(path, Permissions::from_mode(mode_of(mode)))?;
        }
        Ok(())
    };
    set(folder, &meta)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == ".git" {
            continue;
        }
        let (path, meta) = (entry.path(), entry.metadata()?);
        if meta.is_dir() {
            change(&path, mode_of)?;
        } else if meta.is_file() {
            set(&path, &meta)?;
        }
    }
    Ok(())
}
