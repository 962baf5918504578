//! The output of a program that has ended, where no more than that is left of its terminal.

use std::collections::VecDeque;
use std::time::Duration;

use ao_core::session::ProcessRef;
use ao_ports::Runtime;
use async_trait::async_trait;

use super::tmux::CLEAN;
use super::{Frame, Size, View, failed};
use crate::error::{DaemonError, ErrorKind};

/// How large its terminal is taken to have been.
const SIZE: Size = (120, 40);
/// How much is shown to who does not ask for more.
const SHOWN: usize = 64 * 1024;
const PIECE: usize = 1 << 20;

struct PastView(VecDeque<Frame>);

pub(super) async fn open(
    runtime: &dyn Runtime,
    process: &ProcessRef,
    history: u64,
    code: Option<i32>,
) -> Result<Box<dyn View>, DaemonError> {
    let wanted = usize::try_from(history).unwrap_or(usize::MAX).max(SHOWN);
    let (mut kept, mut end) = (VecDeque::new(), 0);
    loop {
        let piece = runtime.output(process, end, PIECE, Duration::ZERO).await.map_err(failed)?;
        if piece.bytes.is_empty() {
            break;
        }
        end = piece.from + piece.bytes.len() as u64;
        kept.extend(piece.bytes);
        let surplus = kept.len().saturating_sub(wanted);
        kept.drain(..surplus);
    }
    let from = end - kept.len() as u64;
    Ok(Box::new(PastView(VecDeque::from([
        Frame::Keyframe { size: SIZE, from, bytes: CLEAN.to_vec() },
        Frame::Output { from, bytes: kept.into() },
        Frame::Ended { code },
    ]))))
}

#[async_trait]
impl View for PastView {
    async fn next(&mut self) -> Result<Option<Frame>, DaemonError> {
        Ok(self.0.pop_front())
    }

    async fn type_bytes(&mut self, _: &[u8]) -> Result<(), DaemonError> {
        Err(DaemonError::new(ErrorKind::NotRunning, "the program has ended and reads nothing any more"))
    }

    async fn resize(&mut self, _: Size) -> Result<(), DaemonError> {
        Ok(())
    }

    async fn control(&mut self, _: bool) -> Result<(), DaemonError> {
        Ok(())
    }
}
