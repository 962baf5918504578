//! Looking at a terminal and typing into it, beside others.
//!
//! For `ao attach` and for terminals in browsers. A viewer first gets the exact screen, with as much before it as asked
//! for, and then what comes. Its own size changes nothing unless it has control.

use std::collections::VecDeque;
use std::fmt;

use ao_ports::{ProcessRef, RuntimeError};

use super::line::Line;
use super::protocol::{Ask, Say};
use super::talk;
use crate::host::Place;
use crate::host::files::failed;
use crate::kept;

/// How to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttachOptions {
    /// How large the viewer's window is, in columns and rows. Used only with control.
    pub size: Option<(u16, u16)>,
    /// Whether this viewer says how large the terminal is. The one who did so before no longer does.
    pub control: bool,
    /// How much of the output before now is wanted, in bytes. It begins where something exact is kept, so it may be more.
    pub history: u64,
}

/// What a viewer is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The whole state of the terminal at this offset, as output for a terminal of this size, whatever that showed before.
    /// The first frame is one; another comes when the size changes, or when the viewer was too slow. A process on pipes has
    /// no size and nothing to show.
    Keyframe {
        size: (u16, u16),
        from: u64,
        bytes: Vec<u8>,
    },
    Output {
        from: u64,
        bytes: Vec<u8>,
    },
    /// Whether this viewer now says how large the terminal is.
    Control {
        yours: bool,
    },
    /// The program has ended. Without a code if a signal ended it, or if nobody saw how it did.
    Ended {
        code: Option<i32>,
    },
}

/// A view of one terminal.
pub struct Attachment {
    source: Source,
}

enum Source {
    Live(Line),
    /// Nothing comes any more.
    Past(VecDeque<Frame>),
}

pub(super) async fn attach(
    place: &Place,
    process: &ProcessRef,
    options: AttachOptions,
) -> Result<Attachment, RuntimeError> {
    let AttachOptions { size, control, history } = options;
    let called = async {
        let mut line = Line::to(place.dir()).await?;
        line.ask(&Ask::Attach { size, control, history }, &[]).await?;
        Ok(line)
    };
    match called.await {
        Ok(line) => Ok(Attachment { source: Source::Live(line) }),
        Err(err) => match place.exit()? {
            Some(exit) => Ok(Attachment { source: Source::Past(past(place, history, exit.code)?) }),
            None => Err(talk::unreachable(place, process, &err)),
        },
    }
}

/// What was kept of a process that has ended.
fn past(place: &Place, history: u64, code: Option<i32>) -> Result<VecDeque<Frame>, RuntimeError> {
    let dir = place.shown();
    let read = || {
        let mut frames = VecDeque::new();
        let starts = kept::starts(&dir)?;
        let end = kept::end(&dir)?;
        let wanted = end.saturating_sub(history);
        let first = starts.partition_point(|start| *start <= wanted).saturating_sub(1);
        for (index, start) in starts.iter().enumerate().skip(first) {
            let keyframe = kept::keyframe(&dir, *start)?;
            let next = starts.get(index + 1).copied().unwrap_or(end);
            let limit = usize::try_from(next - start).unwrap_or(usize::MAX);
            let (output, _) = kept::read(&dir, *start, limit)?;
            frames.push_back(Frame::Keyframe { size: keyframe.size, from: *start, bytes: keyframe.bytes });
            frames.push_back(Frame::Output { from: output.from, bytes: output.bytes });
        }
        frames.push_back(Frame::Ended { code });
        Ok(frames)
    };
    read().map_err(|err| failed("read", &dir, &err))
}

impl Attachment {
    /// The next frame, `None` when there will be no more. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        let line = match &mut self.source {
            Source::Live(line) => line,
            Source::Past(frames) => return Ok(frames.pop_front()),
        };
        loop {
            let heard = match line.hear().await {
                Ok(heard) => heard,
                // A shim that goes while something is sent to it.
                Err(err) if err.kind() == std::io::ErrorKind::ConnectionReset => None,
                Err(err) => return Err(lost(&err)),
            };
            let Some((said, bytes)) = heard else { return Ok(None) };
            return Ok(Some(match said {
                Say::Keyframe { size, from } => Frame::Keyframe { size, from, bytes },
                Say::Output { from } => Frame::Output { from, bytes },
                Say::Control { yours } => Frame::Control { yours },
                Say::Ended { exit } => Frame::Ended { code: exit.code },
                Say::Failed { why } => return Err(RuntimeError::Failed(why)),
                _ => continue,
            }));
        }
    }

    /// Types, as a person does. What the viewer's terminal says of its own accord may be in it.
    pub async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.ask(&Ask::Type, bytes).await
    }

    /// Says how large the viewer's window is now. Changes something only with control.
    pub async fn resize(&mut self, size: (u16, u16)) -> Result<(), RuntimeError> {
        self.ask(&Ask::Resize { size }, &[]).await
    }

    /// From now on this viewer says how large the terminal is.
    pub async fn take_control(&mut self) -> Result<(), RuntimeError> {
        self.ask(&Ask::TakeControl, &[]).await
    }

    async fn ask(&mut self, ask: &Ask, bytes: &[u8]) -> Result<(), RuntimeError> {
        match &mut self.source {
            Source::Live(line) => line.ask(ask, bytes).await.map_err(|err| lost(&err)),
            Source::Past(_) => {
                Err(RuntimeError::Failed("the program has ended and reads nothing any more".into()))
            }
        }
    }
}

fn lost(err: &std::io::Error) -> RuntimeError {
    RuntimeError::Failed(format!("the connection to the terminal was lost: {err}"))
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment")
            .field("live", &matches!(self.source, Source::Live(_)))
            .finish_non_exhaustive()
    }
}
