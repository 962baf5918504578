//! Puts files and links into a workspace, without overwriting anything of others.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use ao_core::setup::IncludeHow;

use super::error::ProvisionError;
use super::find::{IncludedPath, real_file};
use super::record::{FileStamp, IncludeRecord};

/// The source and the target of included files.
#[derive(Debug)]
pub(super) struct IncludePaths<'a> {
    /// The root of the main checkout, with links resolved.
    pub(super) root: &'a Path,
    pub(super) workspace: &'a Path,
    pub(super) git_dir: &'a Path,
}

/// Puts the requested paths into the workspace, except those it reports in `tell`.
///
/// First it records which files it is going to write, and afterwards their stamps. After an interruption, the next call
/// knows that a half-written file is not the agent's work.
pub(super) fn put_all(
    places: &IncludePaths<'_>,
    wishes: &[IncludedPath],
    tracked: &HashSet<String>,
    tell: &mut Vec<String>,
) -> Result<IncludeRecord, ProvisionError> {
    let mut record = IncludeRecord::read(places.git_dir)?;
    let mut wanted = Vec::new();
    for wish in wishes {
        match obstacle(places, wish, tracked, &record) {
            Some(why) => tell.push(format!("`{}` is left out: {why}", wish.path)),
            None => wanted.push(wish),
        }
    }
    record.paths.extend(wanted.iter().map(|wish| (wish.path.clone(), None)));
    record.write(places.git_dir)?;
    for wish in wanted {
        let there = places.workspace.join(&wish.path);
        let file = put(places, wish, &there).map_err(ProvisionError::file("write", &there))?;
        record.paths.insert(wish.path.clone(), Some(file));
    }
    record.write(places.git_dir)?;
    Ok(record)
}

/// Returns the reason why a path cannot be put there.
fn obstacle(
    places: &IncludePaths<'_>,
    wish: &IncludedPath,
    tracked: &HashSet<String>,
    record: &IncludeRecord,
) -> Option<&'static str> {
    let below = format!("{}/", wish.path);
    if tracked.iter().any(|tracked| *tracked == wish.path || tracked.starts_with(&below)) {
        return Some("git tracks it on this branch");
    }
    let mut folder = places.workspace.to_owned();
    for part in Path::new(&wish.path).parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(there) if !there.is_dir() => return Some("its folder is a file or a link in the workspace"),
            _ => {}
        }
    }
    match places.workspace.join(&wish.path).symlink_metadata() {
        Ok(there) if there.is_dir() => return Some("the workspace has a folder of that name"),
        Ok(there) if !record.is_ours(&wish.path, &there) => {
            return Some("it is there already, and was made or changed in the workspace");
        }
        _ => {}
    }
    if !wish.named && real_file(places.root, &wish.path).is_none() {
        return Some("it is no file of this repository");
    }
    None
}

fn put(places: &IncludePaths<'_>, wish: &IncludedPath, there: &Path) -> io::Result<FileStamp> {
    if let Some(folder) = there.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(there) {
        Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
        _ => {}
    }
    match (wish.how, real_file(places.root, &wish.path)) {
        (IncludeHow::Symlink, _) => symlink(places.root.join(&wish.path), there)?,
        (how, Some(source)) => copy(&source, there, how)?,
        (_, None) => {
            return Err(io::Error::new(ErrorKind::NotFound, "the main checkout has no such file any more"));
        }
    }
    Ok(FileStamp::from(&there.symlink_metadata()?))
}

/// Copies a file to a new path, private to its owner: untracked files are often secrets.
fn copy(source: &Path, there: &Path, how: IncludeHow) -> io::Result<()> {
    let mut from = File::open(source)?;
    let mode = if from.metadata()?.permissions().mode() & 0o111 == 0 { 0o600 } else { 0o700 };
    let mut to = OpenOptions::new().write(true).create_new(true).mode(mode).open(there)?;
    // The umask may have removed more permissions than intended.
    to.set_permissions(PermissionsExt::from_mode(mode))?;
    if how == IncludeHow::Reflink && shares_blocks(&from, &to) {
        return Ok(());
    }
    io::copy(&mut from, &mut to).map(drop)
}

/// Lets a new file share its blocks with another, where the file system supports it.
#[cfg(target_os = "linux")]
fn shares_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn shares_blocks(_from: &File, _to: &File) -> bool {
    false
}
