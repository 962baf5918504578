//! Renders diffs, from the text that git writes.

mod draw;
mod inline;
mod parse;
mod visible;

pub use draw::{DiffOptions, draw, names, stat};
pub use parse::{DiffError, DiffHunk, DiffLine, FileChange, FileDiff, LineKind, parse};
pub use visible::{safe_lines, steers, visible};
