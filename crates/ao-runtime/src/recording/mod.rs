//! The recorded output of a program, in files, by offset and bounded.
//!
//! ```text
//!  <attempt>/output/
//!     0000000000000000   keyframe, then the bytes from offset 0 on
//!     0000000000100000   keyframe, then the bytes from there on
//! ```
//!
//! The holder of the program appends; the daemon reads the files itself, whether the holder is alive or not. The oldest
//! segment is removed when there are too many bytes. Each segment begins with the terminal state at that point, if the
//! holder knows it, so the rest can be shown exactly. Offsets count the program's bytes only.

mod reader;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use reader::{end, keyframe, output, read, starts};
pub(crate) use writer::OutputWriter;

/// The length of the keyframe, and the size of the terminal.
const HEADER: u64 = 8;

/// Limits of the recorded output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLimits {
    /// Size of a segment, in bytes.
    pub segment: u64,
    /// Total size of all segments in bytes, keyframes included. The last segment may exceed it.
    pub total: u64,
}

impl Default for OutputLimits {
    fn default() -> OutputLimits {
        OutputLimits { segment: 1 << 20, total: 8 << 20 }
    }
}

/// The state of a terminal at one moment. Empty and without size if there is no terminal, or if another program keeps
/// its state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Keyframe {
    pub(crate) size: (u16, u16),
    pub(crate) bytes: Vec<u8>,
}

fn path(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:016x}"))
}
