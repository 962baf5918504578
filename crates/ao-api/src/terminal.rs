//! Messages on the WebSocket of a terminal.
//!
//! Output is sent in binary messages: 8 bytes with the offset of the first byte, big-endian, then the bytes. Everything
//! else is text: [`FromServer`] and [`FromViewer`] as JSON. Typed bytes of a viewer are sent in binary messages,
//! unchanged.
//!
//! The server sends at most [`WINDOW`] bytes of output beyond what the viewer has acknowledged as shown
//! ([`FromViewer::Shown`]). A viewer that falls behind misses output, and then gets the whole state of the terminal
//! again. So no viewer can slow down the agent, and no buffer grows for it.

use serde::{Deserialize, Serialize};

/// The maximum of output that is sent but not acknowledged as shown.
pub const WINDOW: u64 = 256 * 1024;

/// A message of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum FromServer {
    /// The next binary message is the whole state of the terminal at its offset, for a terminal of this size; it
    /// replaces what the viewer shows. The first message is one.
    Keyframe { columns: u16, rows: u16 },
    /// This viewer now has control (it sets the size and may type), or has lost it.
    Control { yours: bool },
    /// The program has ended. Without a code if a signal ended it, or if its end was not observed.
    Ended { code: Option<i32> },
    /// A request of the viewer was refused.
    Refused { why: String },
}

/// A message of a viewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", deny_unknown_fields)]
pub enum FromViewer {
    /// It has shown everything up to this offset.
    Shown { offset: u64 },
    /// Its window has this size now. Used only with control.
    Resize { columns: u16, rows: u16 },
    /// It requests control, or gives it back.
    Control { take: bool },
}
