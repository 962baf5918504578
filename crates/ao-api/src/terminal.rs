//! What goes over the WebSocket of a terminal.
//!
//! Output comes in binary messages: 8 bytes with the offset of the first byte, big-endian, and the bytes. Everything else is
//! text: [`FromServer`] and [`FromViewer`] as JSON. What a viewer types goes in binary messages, as it is.
//!
//! The server sends no more than [`WINDOW`] bytes of output beyond what the viewer has said it has shown
//! ([`FromViewer::Shown`]). A viewer that stays behind misses output, and then gets the whole state of the terminal anew. So
//! nobody who looks can slow down the agent, and nothing grows for him.

use serde::{Deserialize, Serialize};

/// How far the server goes ahead of what the viewer has shown.
pub const WINDOW: u64 = 256 * 1024;

/// What the server says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum FromServer {
    /// The next binary message is the whole state of the terminal at its offset, for a terminal of this size, whatever the
    /// viewer showed before. The first message is one.
    Keyframe { columns: u16, rows: u16 },
    /// Whether this viewer now says how large the terminal is, and may type.
    Control { yours: bool },
    /// The program has ended. Without a code if a signal ended it, or if nobody saw how it did.
    Ended { code: Option<i32> },
    /// Something the viewer asked for was not done.
    Refused { why: String },
}

/// What a viewer says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", deny_unknown_fields)]
pub enum FromViewer {
    /// It has shown everything up to this offset.
    Shown { offset: u64 },
    /// Its window has this size now. Used only with control.
    Resize { columns: u16, rows: u16 },
    /// It wants control, or hands it back.
    Control { take: bool },
}
