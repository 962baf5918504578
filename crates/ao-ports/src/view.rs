//! A person's view of a terminal.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::runtime::RuntimeError;

/// Options of a viewer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewOptions {
    /// Size of the viewer's window, in columns and rows. Used only with control.
    pub size: Option<(u16, u16)>,
    /// True if this viewer sets the size of the terminal and may type. The previous one loses control.
    pub control: bool,
    /// Bytes of earlier output to send; there may be more.
    pub history: u64,
}

/// A message to a viewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// The whole state of the terminal at this offset, as output for a terminal of this size, regardless of its earlier
    /// content. The first frame is a keyframe; another comes when the size changes, or when the viewer was too slow. A
    /// process on pipes has no size and no screen.
    Keyframe { size: (u16, u16), from: u64, bytes: Vec<u8> },
    /// Output that follows the frame before.
    Output { from: u64, bytes: Vec<u8> },
    /// Reports whether this viewer has control now.
    Control { yours: bool },
    /// The program has ended. There is no code if a signal ended it, or if no process saw how.
    Ended { code: Option<i32> },
}

/// A view of one terminal, beside other views of it.
///
/// It never waits for its viewer: a viewer that does not ask for the next frame in time misses output, and then gets a
/// keyframe. Dropping it hands control back. A viewer without control changes nothing of the terminal; while one has
/// control, the terminal has the size of that viewer's window, and afterwards the size that it had before.
#[async_trait]
pub trait TerminalView: Send {
    /// Returns the next frame, `None` when there will be no more. Cancel-safe.
    async fn next(&mut self) -> Result<Option<Frame>, RuntimeError>;

    /// Types as a person does. The bytes may include automatic replies of the viewer's terminal.
    /// [`RuntimeError::NoControl`] without control.
    async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError>;

    /// Reports the size of the viewer's window. Changes the terminal only with control.
    async fn resize(&mut self, size: (u16, u16)) -> Result<(), RuntimeError>;

    /// Takes control, or hands it back.
    async fn control(&mut self, take: bool) -> Result<(), RuntimeError>;
}
