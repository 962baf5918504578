//! A private git directory that has the objects of a repository and nothing else of it.
//!
//! Merges and checkouts that decide about something run here. The repository's settings, `info/attributes`, hooks,
//! replaced objects and grafts do not exist here, and neither do those of a worktree, so that a process that can write
//! to the repository cannot influence the result of a merge. Settings with the highest precedence would not suffice:
//! `info/attributes` takes precedence over every attributes file that can be passed to git, and only a git directory
//! without one avoids it.
//!
//! Attributes come from a commit that the caller names (git 2.41 and newer; older versions merge without any), programs
//! from the user's own settings for all repositories and from approved ones.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::git::{Git, GitError, READ};
use crate::guard::ProgramGuard;

/// The parent of this process's git directories. Locked while one is created.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

impl Git {
    /// Returns the same git in a private git directory: with the objects of the repository whose common git directory
    /// is given, and the attributes of a commit. Branch names do not exist there, only ids.
    ///
    /// A partial clone fetches missing objects by its own settings, so there git stays in place, guarded as always.
    pub async fn isolated(&self, common_dir: &Path, attributes: &str) -> Result<Git, GitError> {
        let not_run = |err| GitError::NotRun { command: "init".to_owned(), dir: common_dir.to_owned(), err };
        let guard = ProgramGuard::of(common_dir, self.variables())
            .await
            .map_err(|fault| self.fault(&["config"], fault, READ))?;
        let mut git = self.with("GIT_ATTR_SOURCE", attributes);
        if guard.listing.is_partial() {
            return Ok(git);
        }
        let format = guard.listing.own("extensions.objectformat").unwrap_or("sha1");
        let git_dir = git_dir(format).map_err(not_run)?;
        git = git.with("GIT_DIR", git_dir);
        if !self.variables().iter().any(|(name, _)| *name == "GIT_OBJECT_DIRECTORY") {
            git = git.with("GIT_OBJECT_DIRECTORY", common_dir.join("objects"));
        }
        let shallow = common_dir.join("shallow");
        if shallow.is_file() {
            git = git.with("GIT_SHALLOW_FILE", shallow);
        }
        Ok(git.with_settings(guard.approved()))
    }
}

/// Removes the git directories of this process when it is dropped. Those of a killed process are removed by a later
/// one.
#[derive(Debug)]
pub struct ScratchGuard;

impl Drop for ScratchGuard {
    fn drop(&mut self) {
        let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(folder) = folder {
            fs::remove_dir_all(&folder).ok();
            // Fails, as it should, if another process has one there.
            folder.parent().map(fs::remove_dir);
        }
    }
}

/// Returns the git directory for an object format, and creates it if it does not exist (any more).
fn git_dir(format: &str) -> io::Result<PathBuf> {
    let mut folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let within = match folder.as_ref().filter(|folder| is_ours(folder)) {
        Some(folder) => folder.clone(),
        None => folder.insert(made(&std::env::temp_dir())?).clone(),
    };
    // The format comes from a repository's settings and becomes a folder name here.
    let is_known = matches!(format, "sha1" | "sha256");
    let format =
        if is_known { format } else { return Err(io::Error::other("an unknown format of objects")) };
    let dir = within.join(format);
    if dir.join("HEAD").is_file() && dir.join("refs").is_dir() && dir.join("objects").is_dir() {
        return Ok(dir);
    }
    for part in ["refs", "objects"] {
        fs::create_dir_all(dir.join(part))?;
    }
    let version = match format {
        "sha1" => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned(),
        other => format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {other}\n"
        ),
    };
    fs::write(dir.join("config"), version)?;
    fs::write(dir.join("HEAD"), "ref: refs/heads/none\n")?;
    Ok(dir)
}

/// Creates a folder that only this user can write to, beside those of other processes, and removes the leftovers of
/// processes that have ended.
fn made(temp: &Path) -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let all = temp.join(format!("ao-git-{user}"));
    DirBuilder::new().mode(0o700).create(&all).or_else(|err| match err.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(err),
    })?;
    if !is_ours(&all) {
        return Err(io::Error::other(format!("`{}` is not ours alone", all.display())));
    }
    for left in fs::read_dir(&all)?.flatten() {
        let process = left.file_name().to_str().and_then(|name| name.split('-').next()?.parse::<i32>().ok());
        let pid = process.and_then(rustix::process::Pid::from_raw);
        if pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_err()) {
            fs::remove_dir_all(left.path()).ok();
        }
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let folder = all.join(format!("{}-{}", std::process::id(), now.as_nanos()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Returns true if a folder belongs to this user, is not a link, and is writable by no other user.
fn is_ours(folder: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0)
}
