//! Somebody who looks at the terminal.
//!
//! A viewer is an offset: what comes next is read from the kept output when the viewer can take it. So a slow one costs no
//! memory and holds up nobody, and when it is too far behind it gets a keyframe instead of what it has missed.

use super::peer::{Peer, Role};
use super::terminal::Terminal;
use crate::host::Exit;
use crate::kept::{Keyframe, Writer};
use crate::process::protocol::Say;

/// How far a viewer may be behind.
const LAG: u64 = 4 << 20;
/// How much a viewer is sent at once.
const PIECE: usize = 64 * 1024;

pub(super) struct Viewer {
    /// Everything before this was sent.
    at: u64,
    /// The size of its terminal, by what was sent.
    size: (u16, u16),
    /// It wants the state as it is now.
    is_lost: bool,
    /// It has once had everything. Before that it may be as far behind as it asked for.
    is_up_to_date: bool,
    has_heard_the_end: bool,
    pub(super) has_control: bool,
}

/// What viewers are shown.
#[derive(Clone, Copy)]
pub(super) struct Show<'a> {
    pub(super) kept: &'a Writer,
    /// And how much of the output the terminal has taken.
    pub(super) terminal: Option<(&'a Terminal, u64)>,
    pub(super) exit: Option<Exit>,
}

impl Show<'_> {
    /// The state, and at which offset it is the state.
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

/// Makes a viewer of somebody, who first gets so much of what was before.
pub(super) fn attach(peer: &mut Peer, show: Show<'_>, history: u64) {
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
        peer.say(&Say::Keyframe { size: keyframe.size, from: start }, &keyframe.bytes);
    }
    peer.role = Role::Viewer(viewer);
}

/// Sends a viewer what it can take now.
pub(super) fn pump(peer: &mut Peer, show: Show<'_>, space: &mut [u8]) {
    peer.flush();
    while !peer.is_behind() && !peer.is_gone && !peer.is_deaf {
        let Role::Viewer(viewer) = &mut peer.role else { return };
        let Some((say, count)) = viewer.next(show, &mut space[..PIECE]) else { return };
        match say {
            Next::Keyframe(from, keyframe) => {
                peer.say(&Say::Keyframe { size: keyframe.size, from }, &keyframe.bytes);
            }
            Next::Output(from) => peer.say(&Say::Output { from }, &space[..count]),
            Next::Ended(exit) => peer.say(&Say::Ended { exit }, &[]),
        }
        peer.flush();
    }
}

enum Next {
    Keyframe(u64, Keyframe),
    Output(u64),
    Ended(Exit),
}

impl Viewer {
    /// Whether it is to get the state as it is now, instead of what it has missed.
    fn is_lost(&self, kept: &Writer) -> bool {
        self.is_lost || kept.first() > self.at || (self.is_up_to_date && kept.offset() - self.at > LAG)
    }

    /// Whether there is nothing more to send.
    pub(super) fn is_done(&self, offset: u64) -> bool {
        !self.is_lost && self.at >= offset && self.has_heard_the_end
    }

    fn next(&mut self, show: Show<'_>, space: &mut [u8]) -> Option<(Next, usize)> {
        let offset = show.kept.offset();
        self.is_lost = self.is_lost(show.kept);
        // Where the size changes there is a keyframe.
        if !self.is_lost
            && let Some((size, keyframe)) = show.kept.begins_at(self.at)
            && size != self.size
            && let Some(keyframe) = keyframe()
        {
            self.size = size;
            return Some((Next::Keyframe(self.at, keyframe), 0));
        }
        if !self.is_lost && self.at < offset {
            match show.kept.read(self.at, space) {
                Some(count) => {
                    let from = self.at;
                    self.at += count as u64;
                    return Some((Next::Output(from), count));
                }
                None => self.is_lost = true,
            }
        }
        if self.is_lost {
            let (from, keyframe) = show.now();
            (self.is_lost, self.is_up_to_date) = (false, false);
            (self.at, self.size) = (from, keyframe.size);
            return Some((Next::Keyframe(from, keyframe), 0));
        }
        self.is_up_to_date = true;
        match show.exit {
            Some(exit) if !self.has_heard_the_end => {
                self.has_heard_the_end = true;
                Some((Next::Ended(exit), 0))
            }
            _ => None,
        }
    }
}
