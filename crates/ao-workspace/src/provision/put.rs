//! Putting files and links into a workspace, and never over anything that is somebody else's.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use ao_core::setup::IncludeHow;

use super::error::ProvisionError;
use super::find::{Wish, real_file};
use super::record::{Record, Stamp};

/// Where things come from and go to.
#[derive(Debug)]
pub(super) struct Places<'a> {
    /// The root of the main checkout, without links in it.
    pub(super) root: &'a Path,
    pub(super) workspace: &'a Path,
    pub(super) git_dir: &'a Path,
}

/// Puts what is wished for into the workspace, except what it tells of.
///
/// First it is written down what is going to be written, and afterwards what it looks like. If it is cut off in between,
/// the next one knows that the half-written file is no work of the agent's.
pub(super) fn put_all(
    places: &Places<'_>,
    wishes: &[Wish],
    tracked: &HashSet<String>,
    tell: &mut Vec<String>,
) -> Result<Record, ProvisionError> {
    let mut record = Record::read(places.git_dir)?;
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

/// Why a path is not to be put there.
fn obstacle(
    places: &Places<'_>,
    wish: &Wish,
    tracked: &HashSet<String>,
    record: &Record,
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

fn put(places: &Places<'_>, wish: &Wish, there: &Path) -> io::Result<Stamp> {
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
    Ok(Stamp::from(&there.symlink_metadata()?))
}

/// Copies a file to where there is none, for its owner alone: what git does not track is often a secret.
fn copy(source: &Path, there: &Path, how: IncludeHow) -> io::Result<()> {
    let mut from = File::open(source)?;
    let mode = if from.metadata()?.permissions().mode() & 0o111 == 0 { 0o600 } else { 0o700 };
    let mut to = OpenOptions::new().write(true).create_new(true).mode(mode).open(there)?;
    // The umask may have taken away more than is wanted.
    to.set_permissions(PermissionsExt::from_mode(mode))?;
    if how == IncludeHow::Reflink && shares_blocks(&from, &to) {
        return Ok(());
    }
    io::copy(&mut from, &mut to).map(drop)
}

/// Lets a new file share its blocks with another, where the file system can.
#[cfg(target_os = "linux")]
fn shares_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn shares_blocks(_from: &File, _to: &File) -> bool {
    false
}
