//! Connects to a shim as a viewer of its terminal, beside other viewers.
//!
//! A viewer first gets the exact screen, with as much history as requested, and then new output. Its window size has no
//! effect unless it has control.

use std::collections::VecDeque;
use std::fmt;

use ao_ports::{Frame, ProcessRef, RuntimeError, ViewOptions};

use super::connection::ShimConnection;
use super::protocol::{ShimMessage, ShimRequest};
use super::requests;
use crate::host::AttemptDir;
use crate::host::files::failed;
use crate::recording;

/// A view of one terminal.
pub struct Attachment {
    source: FrameSource,
}

enum FrameSource {
    /// The connection, and its first message until that is taken.
    Live(ShimConnection, Option<(ShimMessage, Vec<u8>)>),
    /// The program has ended; only these frames are left.
    Past(VecDeque<Frame>),
}

pub(super) async fn attach(
    attempt_dir: &AttemptDir,
    process: &ProcessRef,
    options: ViewOptions,
) -> Result<Attachment, RuntimeError> {
    let ViewOptions { size, control, history } = options;
    let called = async {
        let mut line = ShimConnection::to(attempt_dir.dir()).await?;
        line.ask(&ShimRequest::Attach { size, control, history }, &[]).await?;
        // A shim that is about to exit may still accept a connection, and then answers nothing.
        let first = line.hear().await?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        Ok::<_, std::io::Error>((line, first))
    };
    match called.await {
        Ok((line, first)) => Ok(Attachment { source: FrameSource::Live(line, Some(first)) }),
        Err(err) => match attempt_dir.exit()? {
            Some(exit) => {
                Ok(Attachment { source: FrameSource::Past(past(attempt_dir, history, exit.code)?) })
            }
            None => Err(requests::unreachable(attempt_dir, process, &err)),
        },
    }
}

/// Reads the recorded output of a process that has ended.
fn past(attempt_dir: &AttemptDir, history: u64, code: Option<i32>) -> Result<VecDeque<Frame>, RuntimeError> {
    let dir = attempt_dir.shown();
    let read = || {
        let mut frames = VecDeque::new();
        let starts = recording::starts(&dir)?;
        let end = recording::end(&dir)?;
        let wanted = end.saturating_sub(history);
        let first = starts.partition_point(|start| *start <= wanted).saturating_sub(1);
        for (index, start) in starts.iter().enumerate().skip(first) {
            let keyframe = recording::keyframe(&dir, *start)?;
            let next = starts.get(index + 1).copied().unwrap_or(end);
            let limit = usize::try_from(next - start).unwrap_or(usize::MAX);
            let (output, _) = recording::read(&dir, *start, limit)?;
            frames.push_back(Frame::Keyframe { size: keyframe.size, from: *start, bytes: keyframe.bytes });
            frames.push_back(Frame::Output { from: output.from, bytes: output.bytes });
        }
        frames.push_back(Frame::Ended { code });
        Ok(frames)
    };
    read().map_err(|err| failed("read", &dir, &err))
}

impl Attachment {
    /// Returns the next frame, `None` when there will be no more. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        let (line, first) = match &mut self.source {
            FrameSource::Live(line, first) => (line, first),
            FrameSource::Past(frames) => return Ok(frames.pop_front()),
        };
        loop {
            let heard = match first.take() {
                Some(first) => Some(first),
                None => match line.hear().await {
                    Ok(heard) => heard,
                    // The shim ended while something was sent to it.
                    Err(err) if err.kind() == std::io::ErrorKind::ConnectionReset => None,
                    Err(err) => return Err(lost(&err)),
                },
            };
            let Some((said, bytes)) = heard else { return Ok(None) };
            return Ok(Some(match said {
                ShimMessage::Keyframe { size, from } => Frame::Keyframe { size, from, bytes },
                ShimMessage::Output { from } => Frame::Output { from, bytes },
                ShimMessage::Control { yours } => Frame::Control { yours },
                ShimMessage::Ended { exit } => Frame::Ended { code: exit.code },
                ShimMessage::Failed { why } => return Err(RuntimeError::Failed(why)),
                _ => continue,
            }));
        }
    }

    /// Types as a person does. The bytes may include automatic replies of the viewer's terminal.
    pub async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.ask(&ShimRequest::Type, bytes).await
    }

    /// Reports the size of the viewer's window. Has an effect only with control.
    pub async fn resize(&mut self, size: (u16, u16)) -> Result<(), RuntimeError> {
        self.ask(&ShimRequest::Resize { size }, &[]).await
    }

    /// Takes control: from now on this viewer sets the size of the terminal.
    pub async fn take_control(&mut self) -> Result<(), RuntimeError> {
        self.ask(&ShimRequest::TakeControl, &[]).await
    }

    async fn ask(&mut self, ask: &ShimRequest, bytes: &[u8]) -> Result<(), RuntimeError> {
        match &mut self.source {
            FrameSource::Live(line, _) => line.ask(ask, bytes).await.map_err(|err| lost(&err)),
            FrameSource::Past(_) => Err(RuntimeError::Ended),
        }
    }
}

fn lost(err: &std::io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("the connection to the terminal was lost: {err}"))
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment")
            .field("live", &matches!(self.source, FrameSource::Live(..)))
            .finish_non_exhaustive()
    }
}
