//! A tree that is only to be read: its files and folders are closed to writing, and opened again before it goes.
//!
//! By permissions, which stop whoever writes there without meaning to. Who may change them can; only a sandbox stops that.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::TreeError;

const WRITE: u32 = 0o222;

/// Takes the right to write from everything in a tree but git's own file.
pub(crate) fn close(tree: &Path) -> Result<(), TreeError> {
    change(tree, &|mode| mode & !WRITE).map_err(TreeError::file("close to writing", tree))
}

/// Gives the owner the right to write back.
pub(crate) fn open(tree: &Path) -> Result<(), TreeError> {
    change(tree, &|mode| mode | 0o200).map_err(TreeError::file("open for writing", tree))
}

/// Links are passed over: what they lead to is somebody else's.
fn change(folder: &Path, mode_of: &dyn Fn(u32) -> u32) -> io::Result<()> {
    let meta = fs::symlink_metadata(folder)?;
    // Before its entries, so that a closed folder can be read and changed while it is walked; a closed one can still be read.
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
