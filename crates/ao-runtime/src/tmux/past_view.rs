//! A view of the output of a program that has ended, where its terminal is gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{Frame, ProcessRef, RuntimeError, TerminalView};
use async_trait::async_trait;

use super::output;
use super::runtime::SharedTmux;
use super::view::CLEAN;
use crate::host::viewers::Size;

/// The size that its terminal is taken to have had.
const SIZE: Size = (120, 40);
/// Bytes that are shown at least.
const SHOWN: usize = 64 * 1024;
const PIECE: usize = 1 << 20;

struct PastView(VecDeque<Frame>);

pub(super) async fn open(
    tmux: &Arc<SharedTmux>,
    process: &ProcessRef,
    history: u64,
    code: Option<i32>,
) -> Result<Box<dyn TerminalView>, RuntimeError> {
    let wanted = usize::try_from(history).unwrap_or(usize::MAX).max(SHOWN);
    let (mut kept, mut end) = (VecDeque::new(), 0);
    loop {
        let (attempt_dir, _) = tmux.known(process)?;
        let piece = output::output(tmux, attempt_dir, end, PIECE, Duration::ZERO).await?;
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
impl TerminalView for PastView {
    async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        Ok(self.0.pop_front())
    }

    async fn type_bytes(&mut self, _: &[u8]) -> Result<(), RuntimeError> {
        Err(RuntimeError::Ended)
    }

    async fn resize(&mut self, _: Size) -> Result<(), RuntimeError> {
        Ok(())
    }

    async fn control(&mut self, _: bool) -> Result<(), RuntimeError> {
        Ok(())
    }
}
