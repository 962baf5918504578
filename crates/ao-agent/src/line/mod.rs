//! The line protocol: one JSON object a line, told apart from anything else by its `ao` key.
//!
//! `docs/design/002-line-protocol.md` describes it for those who write agents. Whatever is not a line of it is passed
//! over, so a program may print what it likes in between.

mod parse;
mod split;
mod write;

pub use parse::{LINE_MOST, Line, denials, parse_line};
pub use split::Splitter;
pub(crate) use write::{answer, message};
