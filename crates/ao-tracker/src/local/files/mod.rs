//! Issues as Markdown files that people read, edit and commit with the code.
//!
//! The files are the source of truth. Only the last assigned number is kept elsewhere, so that the number of a deleted
//! issue is not reused. Every answer reflects the files at that moment; unchanged ones are not read again.

mod cache;
mod comments;
mod document;
mod folder;
mod front;
#[cfg(test)]
mod properties;
mod storage;
mod watch;

use camino::Utf8PathBuf;

pub(in crate::local) use self::storage::FileStorage;

/// A mistake in a file that a person has to fix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileWarning {
    pub path: Utf8PathBuf,
    pub line: usize,
    pub what: String,
}

/// A mistake in a text, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileMistake {
    line: usize,
    what: String,
}
