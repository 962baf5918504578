//! Renders diffs, from the text that git writes.

mod draw;
mod inline;
mod parse;
mod visible;

pub use draw::{Drawn, draw, names, stat};
pub use parse::{Change, DiffError, FileDiff, Hunk, Line, LineKind, parse};
pub use visible::{safe_lines, steers, visible};
