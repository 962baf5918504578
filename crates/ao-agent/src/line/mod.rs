//! The line protocol: one JSON object per line, recognised by its `ao` key.
//!
//! `docs/design/002-line-protocol.md` describes it for authors of agents. Other lines are skipped, so a program may
//! print anything in between.

mod parse;
mod split;
mod write;

pub use parse::{LINE_MOST, ProtocolLine, denials, parse_line};
pub use split::LineSplitter;
pub(crate) use write::{answer, cancel, message};
