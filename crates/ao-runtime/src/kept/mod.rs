//! What a program has put out, in files, by offset and bounded.
//!
//! ```text
//!  <place>/output/
//!     0000000000000000   keyframe, then the bytes from offset 0 on
//!     0000000000100000   keyframe, then the bytes from there on
//! ```
//!
//! Whoever holds the program appends; the daemon reads the files itself, whether the holder lives or not. The oldest segment
//! goes when there are too many bytes. Each begins with the state of the terminal at its beginning, if the holder knows it,
//! so what is left can be shown exactly. Offsets count the program's bytes only.

mod reader;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use reader::{end, keyframe, output, read, starts};
pub(crate) use writer::Writer;

/// The length of the keyframe, and the size of the terminal.
const HEADER: u64 = 8;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// How long a segment gets.
    pub segment: u64,
    /// How much there is at most in all segments, keyframes included, but for what the last one has too much.
    pub total: u64,
}

impl Default for Keep {
    fn default() -> Keep {
        Keep { segment: 1 << 20, total: 8 << 20 }
    }
}

/// The state of a terminal at one moment. Of no size and empty, if there is no terminal or somebody else keeps its state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Keyframe {
    pub(crate) size: (u16, u16),
    pub(crate) bytes: Vec<u8>,
}

fn path(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:016x}"))
}
