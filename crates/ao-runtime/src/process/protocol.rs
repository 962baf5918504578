//! The messages between a shim and its clients, over a private socket.
//!
//! ```text
//!  length of all that follows (4 bytes) │ length of the head (4 bytes) │ head, as JSON │ bytes
//! ```
//!
//! JSON, because a shim outlives the daemon that started it: the next daemon may be older or newer, and unknown parts
//! of a head are ignored. Terminal output and typed input follow as raw bytes.

use std::io;

use ao_core::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::{ProcessRecord, ProgramExit};

/// Most bytes of a message. A length from the other side is checked against it before it is used.
const MOST: usize = 32 << 20;

/// A request to a shim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShimRequest {
    /// Introduce yourself and, from now on, report the exit and typing.
    Subscribe,
    /// Report once when there is output behind this offset.
    Beyond { offset: u64 },
    /// The bytes are for the program. A repeated number is the same write.
    Write { number: u64 },
    /// Show me the screen once.
    Screen,
    /// Show me the terminal, and new output.
    Attach { size: Option<(u16, u16)>, control: bool, history: u64 },
    /// Typed input of a viewer.
    Type,
    /// The window of a viewer has this size.
    Resize { size: (u16, u16) },
    /// Give control to this viewer.
    TakeControl,
    /// End the whole process tree.
    End { grace_ms: u64 },
}

/// A message of a shim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShimMessage {
    Here { record: ProcessRecord, exit: Option<ProgramExit> },
    Offset { offset: u64 },
    Exited { exit: ProgramExit },
    Typed { at: Timestamp },
    Written { again: bool },
    Screen { screen: ao_ports::Screen },
    Keyframe { size: (u16, u16), from: u64 },
    Output { from: u64 },
    Control { yours: bool },
    Ended { exit: ProgramExit },
    Done,
    Failed { why: String },
}

/// Appends a message to the send buffer.
pub(super) fn push(head: &impl Serialize, bytes: &[u8], onto: &mut Vec<u8>) {
    let head = serde_json::to_vec(head).expect("plain data can be written");
    let all = u32::try_from(4 + head.len() + bytes.len()).expect("messages are bounded");
    onto.reserve(4 + all as usize);
    onto.extend_from_slice(&all.to_le_bytes());
    onto.extend_from_slice(&(head.len() as u32).to_le_bytes());
    onto.extend_from_slice(&head);
    onto.extend_from_slice(bytes);
}

/// Takes the first whole message out of the receive buffer. Its head is `None` if it is unknown to us.
pub(super) fn pop<T: DeserializeOwned>(from: &mut Vec<u8>) -> io::Result<Option<(Option<T>, Vec<u8>)>> {
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let Some((all, rest)) = from.split_first_chunk::<4>() else { return Ok(None) };
    let all = u32::from_le_bytes(*all) as usize;
    if all > MOST {
        return Err(bad(format!("a message of {all} bytes")));
    }
    let Some(message) = rest.get(..all) else { return Ok(None) };
    let (head, rest) =
        message.split_first_chunk::<4>().ok_or_else(|| bad("a message without a head".into()))?;
    let head = u32::from_le_bytes(*head) as usize;
    let (head, bytes) =
        rest.split_at_checked(head).ok_or_else(|| bad("a head longer than its message".into()))?;
    let message = (serde_json::from_slice(head).ok(), bytes.to_vec());
    from.drain(..4 + all);
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A daemon meets shims that an older or a newer one has started.
    #[test]
    fn unknown_parts_of_a_message_are_ignored() {
        let mut said = Vec::new();
        push(&serde_json::json!({ "sing": { "song": 1 } }), b"la", &mut said);
        push(&serde_json::json!({ "write": { "number": 7, "colour": "red" } }), b"hello", &mut said);
        assert_eq!(pop::<ShimRequest>(&mut said).unwrap(), Some((None, b"la".to_vec())));
        assert_eq!(
            pop(&mut said).unwrap(),
            Some((Some(ShimRequest::Write { number: 7 }), b"hello".to_vec()))
        );
        assert_eq!(pop::<ShimRequest>(&mut said).unwrap(), None);
    }

    #[test]
    fn half_a_message_waits_and_nonsense_is_an_error() {
        let mut whole = Vec::new();
        push(&ShimRequest::Screen, b"", &mut whole);
        for cut in 0..whole.len() {
            assert_eq!(pop::<ShimRequest>(&mut whole[..cut].to_vec()).unwrap(), None);
        }
        for nonsense in [[0xff; 8], [2, 0, 0, 0, 1, 1, 1, 1], [4, 0, 0, 0, 9, 0, 0, 0]] {
            assert!(pop::<ShimRequest>(&mut nonsense.to_vec()).is_err(), "{nonsense:?}");
        }
    }
}
