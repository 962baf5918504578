//! A viewer of the terminal.
//!
//! A viewer is an offset: the next bytes are read from the recorded output when the viewer can accept them. So a slow
//! one costs no memory and delays no other, and when it is too far behind it gets a keyframe instead of the output it
//! missed.

use super::peer::{PeerRole, ShimPeer};
use super::terminal::EmulatedTerminal;
use crate::host::ProgramExit;
use crate::process::protocol::ShimMessage;
use crate::recording::{Keyframe, OutputWriter};

/// Most bytes that a viewer may be behind.
const LAG: u64 = 4 << 20;
/// Most bytes sent to a viewer at once.
const PIECE: usize = 64 * 1024;

pub(super) struct Viewer {
    /// Everything before this offset was sent.
    at: u64,
    /// The size of its terminal, as sent.
    size: (u16, u16),
    /// It needs the current state.
    is_lost: bool,
    /// It has once caught up. Before that it may be as far behind as it requested.
    is_up_to_date: bool,
    has_heard_the_end: bool,
    pub(super) has_control: bool,
}

/// The source of frames for viewers.
#[derive(Clone, Copy)]
pub(super) struct ViewerSource<'a> {
    pub(super) kept: &'a OutputWriter,
    /// The terminal, and how much of the output it has processed.
    pub(super) terminal: Option<(&'a EmulatedTerminal, u64)>,
    pub(super) exit: Option<ProgramExit>,
}

impl ViewerSource<'_> {
    /// Returns the current state, and its offset.
    fn now(&self) -> (u64, Keyframe) {
        match self.terminal {
            Some((terminal, at)) => {
                let size = terminal.size();
                (at, Keyframe { size: (size.0, size.1), bytes: terminal.keyframe() })
            }
            None => (self.kept.offset(), Keyframe::default()),
        }
    }
}

/// Turns a client into a viewer, which first gets the requested history.
pub(super) fn attach(peer: &mut ShimPeer, show: ViewerSource<'_>, history: u64) {
    let mut viewer = Viewer {
        at: show.kept.offset(),
        size: (0, 0),
        is_lost: true,
        is_up_to_date: false,
        has_heard_the_end: false,
        has_control: false,
    };
    if history > 0
        && let Some((start, keyframe)) = show.kept.back(history)
    {
        viewer.is_lost = false;
        (viewer.at, viewer.size) = (start, keyframe.size);
        peer.say(&ShimMessage::Keyframe { size: keyframe.size, from: start }, &keyframe.bytes);
    }
    peer.role = PeerRole::Viewer(viewer);
}

/// Sends a viewer as much as it can accept now.
pub(super) fn pump(peer: &mut ShimPeer, show: ViewerSource<'_>, space: &mut [u8]) {
    peer.flush();
    while !peer.is_behind() && !peer.is_gone && !peer.is_deaf {
        let PeerRole::Viewer(viewer) = &mut peer.role else { return };
        let Some((say, count)) = viewer.next(show, &mut space[..PIECE]) else { return };
        match say {
            NextFrame::Keyframe(from, keyframe) => {
                peer.say(&ShimMessage::Keyframe { size: keyframe.size, from }, &keyframe.bytes);
            }
            NextFrame::Output(from) => peer.say(&ShimMessage::Output { from }, &space[..count]),
            NextFrame::Ended(exit) => peer.say(&ShimMessage::Ended { exit }, &[]),
        }
        peer.flush();
    }
}

enum NextFrame {
    Keyframe(u64, Keyframe),
    Output(u64),
    Ended(ProgramExit),
}

impl Viewer {
    /// Returns true if it needs the current state instead of the output it missed.
    fn is_lost(&self, kept: &OutputWriter) -> bool {
        self.is_lost || kept.first() > self.at || (self.is_up_to_date && kept.offset() - self.at > LAG)
    }

    /// Returns true if there is nothing more to send.
    pub(super) fn is_done(&self, offset: u64) -> bool {
        !self.is_lost && self.at >= offset && self.has_heard_the_end
    }

    fn next(&mut self, show: ViewerSource<'_>, space: &mut [u8]) -> Option<(NextFrame, usize)> {
        let offset = show.kept.offset();
        self.is_lost = self.is_lost(show.kept);
        // There is a keyframe where the size changes.
        if !self.is_lost
            && let Some((size, keyframe)) = show.kept.begins_at(self.at)
            && size != self.size
            && let Some(keyframe) = keyframe()
        {
            self.size = size;
            return Some((NextFrame::Keyframe(self.at, keyframe), 0));
        }
        if !self.is_lost && self.at < offset {
            match show.kept.read(self.at, space) {
                Some(count) => {
                    let from = self.at;
                    self.at += count as u64;
                    return Some((NextFrame::Output(from), count));
                }
                None => self.is_lost = true,
            }
        }
        if self.is_lost {
            let (from, keyframe) = show.now();
            (self.is_lost, self.is_up_to_date) = (false, false);
            (self.at, self.size) = (from, keyframe.size);
            return Some((NextFrame::Keyframe(from, keyframe), 0));
        }
        self.is_up_to_date = true;
        match show.exit {
            Some(exit) if !self.has_heard_the_end => {
                self.has_heard_the_end = true;
                Some((NextFrame::Ended(exit), 0))
            }
            _ => None,
        }
    }
}
