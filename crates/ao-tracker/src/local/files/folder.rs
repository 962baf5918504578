//! The folder `.ao/issues` of a checkout, and nothing else.
//!
//! All access goes through the folder's own handle, and no link is followed on the way: an agent that replaces
//! something cannot lead a read or a write out of the repository, not even in the middle of one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ao_core::Timestamp;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

/// Most bytes of an issue's file: a body, and some comments.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// The path of the folder, which need not exist.
#[derive(Debug, Clone)]
pub(super) struct IssueFolder {
    pub(super) root: Utf8PathBuf,
}

/// Errors of the folder or of a file in it.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("`{path}` is a link; issues are only kept in a real folder of the repository")]
    Link { path: Utf8PathBuf },
    #[error("failed to {tried} `{path}`: {err}")]
    Io { tried: &'static str, path: Utf8PathBuf, err: io::Error },
    #[error("`{path}` was changed by another program at the same moment; try again")]
    Changed { path: Utf8PathBuf },
}

/// Identifies the state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Also changes when a file with an older date replaces this one.
    changed: (i64, i64),
}

impl FileStamp {
    fn of(file: &File) -> io::Result<FileStamp> {
        let meta = file.metadata()?;
        Ok(FileStamp {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }

    /// Returns the time of the last change of any kind.
    pub(super) fn at(&self) -> Timestamp {
        let (seconds, nanos) = self.modified.max(self.changed);
        Timestamp(seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000))
    }
}

/// The result of reading a file.
pub(super) enum ReadResult {
    /// The stamp has not changed.
    Same,
    Text(FileStamp, String),
    /// Not a valid issue: the stamp, the line and the reason.
    Odd(Option<FileStamp>, usize, String),
}

impl IssueFolder {
    pub(super) fn path(&self) -> Utf8PathBuf {
        self.root.join(".ao").join("issues")
    }

    /// Opens the folder, if it exists.
    pub(super) fn open(&self) -> Result<Option<OwnedFd>, FolderError> {
        self.walk(|_, _, _| Ok(()))
    }

    /// Opens the folder, and creates it if needed.
    pub(super) fn made(&self) -> Result<OwnedFd, FolderError> {
        let made =
            self.walk(|at, name, path| match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(err) => Err(failed("make", path, err.into())),
            })?;
        made.ok_or_else(|| failed("open", &self.path(), io::ErrorKind::NotFound.into()))
    }

    /// Opens the folder from the root on, and prepares each part of the way first.
    fn walk(
        &self,
        prepare: impl Fn(&OwnedFd, &str, &Utf8Path) -> Result<(), FolderError>,
    ) -> Result<Option<OwnedFd>, FolderError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Links in the project's own path are its owner's choice.
        let mut at = rustix::fs::open(self.root.as_std_path(), flags, Mode::empty())
            .map_err(|err| failed("open", &self.root, err.into()))?;
        let mut path = self.root.clone();
        for name in [".ao", "issues"] {
            path.push(name);
            prepare(&at, name, &path)?;
            at = match rustix::fs::openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(folder) => folder,
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => return Err(no_folder(&at, &path, name)),
                Err(err) => return Err(failed("open", &path, err.into())),
            };
        }
        Ok(Some(at))
    }

    /// Lists the names in it. Names that are not UTF-8 are ignored.
    pub(super) fn names(&self, folder: &OwnedFd) -> Result<Vec<String>, FolderError> {
        let failed = |err: Errno| failed("list", &self.path(), err.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().to_str().ok().map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Reads a file, unless it has this stamp. Returns `None` if it is gone.
    pub(super) fn read(
        &self,
        folder: &OwnedFd,
        name: &str,
        known: Option<FileStamp>,
    ) -> Result<Option<ReadResult>, FolderError> {
        let io = |err: io::Error| failed("read", &self.path().join(name), err);
        let odd = |stamp, what: &str| Ok(Some(ReadResult::Odd(stamp, 1, what.to_owned())));
        // Non-blocking, or a named pipe would block us forever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => {
                return odd(None, "it is a link, and links are not followed here");
            }
            Err(Errno::ACCESS | Errno::PERM) => {
                return odd(None, "it must not be read; check its permissions");
            }
            Err(Errno::NXIO) => return odd(None, "it is not a plain file"),
            Err(err) => return Err(io(err.into())),
        };
        let stamp = FileStamp::of(&file).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return odd(Some(stamp), "it is not a plain file");
        }
        if known == Some(stamp) {
            return Ok(Some(ReadResult::Same));
        }
        let mut bytes = Vec::new();
        (&mut file).take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > MAX_BYTES {
            let what =
                format!("it is longer than {} KB; put what is long into a file of its own", MAX_BYTES / 1024);
            return odd(Some(stamp), &what);
        }
        Ok(Some(match String::from_utf8(bytes) {
            Ok(text) => ReadResult::Text(stamp, text),
            Err(err) => {
                let before = &err.as_bytes()[..err.utf8_error().valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                ReadResult::Odd(Some(stamp), line, "this is not UTF-8".into())
            }
        }))
    }

    /// Adds a new file atomically. An existing file of that name is not touched.
    pub(super) fn add(&self, folder: &OwnedFd, name: &str, text: &str) -> Result<(), FolderError> {
        let temporary = self.temporary(folder, text, 0o644)?;
        let path = self.path().join(name);
        let linked = rustix::fs::linkat(folder, &*temporary, folder, name, AtFlags::empty());
        let removed = rustix::fs::unlinkat(folder, &*temporary, AtFlags::empty());
        match linked {
            Ok(()) => {
                removed.and(rustix::fs::fsync(folder)).map_err(|err| failed("write", &path, err.into()))
            }
            Err(Errno::EXIST) => Err(FolderError::Changed { path }),
            Err(err) => Err(failed("write", &path, err.into())),
        }
    }

    /// Replaces the text of a file, if the file has not changed since it was read.
    pub(super) fn replace(
        &self,
        folder: &OwnedFd,
        name: &str,
        was: FileStamp,
        text: &str,
    ) -> Result<(), FolderError> {
        let path = self.path().join(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let old = rustix::fs::openat(folder, name, flags, Mode::empty())
            .map(File::from)
            .map_err(|_| FolderError::Changed { path: path.clone() })?;
        let mode = old.metadata().map_err(|err| failed("read", &path, err))?.permissions().mode();
        let temporary = self.temporary(folder, text, mode & 0o777)?;
        let now = FileStamp::of(&old).map_err(|err| failed("read", &path, err))?;
        let moved = if now == was {
            rustix::fs::renameat(folder, &*temporary, folder, name)
                .and_then(|()| rustix::fs::fsync(folder))
                .map_err(|err| failed("write", &path, err.into()))
        } else {
            Err(FolderError::Changed { path })
        };
        if moved.is_err() {
            // If it was renamed, it is gone already.
            _ = rustix::fs::unlinkat(folder, &*temporary, AtFlags::empty());
        }
        moved
    }

    /// Writes a file under a name that no issue has, and syncs it to disk.
    fn temporary(&self, folder: &OwnedFd, text: &str, mode: u32) -> Result<String, FolderError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // There is one writer at a time, so a file of this name was left by a crash.
        let name = ".ao-issue.tmp".to_owned();
        let path = self.path().join(&name);
        _ = rustix::fs::unlinkat(folder, &*name, AtFlags::empty());
        let file = rustix::fs::openat(folder, &*name, flags, Mode::from_raw_mode(0o600))
            .map_err(|err| failed("write", &path, err.into()))?;
        let mut file = File::from(file);
        file.write_all(text.as_bytes())
            .and_then(|()| file.set_permissions(PermissionsExt::from_mode(mode)))
            .and_then(|()| file.sync_all())
            .map_err(|err| {
                _ = rustix::fs::unlinkat(folder, &*name, AtFlags::empty());
                failed("write", &path, err)
            })?;
        Ok(name)
    }
}

/// Describes what is in the place of a folder.
fn no_folder(parent: impl AsFd, path: &Utf8Path, name: &str) -> FolderError {
    let is_link = rustix::fs::readlinkat(parent, name, Vec::new()).is_ok();
    match is_link {
        true => FolderError::Link { path: path.to_owned() },
        false => failed("open", path, io::Error::from(io::ErrorKind::NotADirectory)),
    }
}

fn failed(tried: &'static str, path: &Utf8Path, err: io::Error) -> FolderError {
    FolderError::Io { tried, path: path.to_owned(), err }
}
