//! Issues as Markdown files that people read, edit and commit with the code.
//!
//! The files are the truth: nothing of them is kept anywhere else but the last number that was given away, so that the
//! number of a deleted issue does not come back with another meaning. Every answer comes from the files as they are at
//! that moment; those that did not change are not read again.

mod comments;
mod document;
mod folder;
mod front;
mod known;
#[cfg(test)]
mod properties;
mod shelf;
mod watch;

use camino::Utf8PathBuf;

pub(in crate::local) use self::shelf::FileShelf;

/// Something in a file that a person has to put right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    pub path: Utf8PathBuf,
    pub line: usize,
    pub what: String,
}

/// What is wrong in a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    line: usize,
    what: String,
}
