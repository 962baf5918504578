//! What those who are connected ask, and what they get.

use std::time::{Duration, Instant};

use super::holder::Holder;
use super::input::Taken;
use super::peer::{Peer, Role};
use super::terminal::Size;
use super::typing;
use super::viewer::{self, Show};
use crate::host::place::now;
use crate::process::protocol::{Ask, Say};

pub(super) const ENDED: &str = "the program has ended and reads nothing any more";
pub(super) const CLOSED: &str = "the program has closed its input and reads nothing any more";
const NO_INPUT: &str = "the program was started without an input, so nothing can be written to it";
const FULL: &str = "the program has not read what it was told before";
const NO_TERMINAL: &str = "the program has no terminal";
const NOT_KNOWN: &str = "the shim of this process is of another version and does not know how to do this";

/// How often the daemon is told that somebody types.
const TYPING: Duration = Duration::from_secs(1);

impl Holder {
    pub(super) fn answer(&mut self, id: u64, ask: Option<Ask>, bytes: Vec<u8>) {
        let failed = |why: &str| Some(Say::Failed { why: why.into() });
        let say = match ask {
            None => failed(NOT_KNOWN),
            Some(Ask::Subscribe) => {
                self.become_role(id, Role::Subscriber { beyond: None, told_typing: None });
                Some(Say::Here { record: self.record.clone(), exit: self.exit })
            }
            Some(Ask::Beyond { offset }) => {
                if let Some(Peer { role: Role::Subscriber { beyond, .. }, .. }) = self.peer(id) {
                    *beyond = Some(beyond.map_or(offset, |before| before.min(offset)));
                }
                None
            }
            Some(Ask::Write { .. }) if self.program.input().is_none() => failed(NO_INPUT),
            Some(Ask::Write { .. }) if self.exit.is_some() => failed(ENDED),
            Some(Ask::Write { number }) => match self.input.write(number, bytes, id) {
                Taken::Waits => None,
                Taken::AlreadyWritten => Some(Say::Written { again: true }),
                Taken::Full => failed(FULL),
            },
            Some(Ask::Screen) => match self.screen() {
                Some(screen) => Some(Say::Screen { screen }),
                None => failed(NO_TERMINAL),
            },
            Some(Ask::Attach { size, control, history }) => {
                self.catch_up();
                let terminal = self.terminal.as_ref().map(|terminal| (terminal, self.fed));
                let kept = self.log.as_ref().unwrap_or(&self.kept);
                let show = Show { kept, terminal, exit: self.exit };
                if let Some(peer) = self.peers.iter_mut().find(|peer| peer.id == id) {
                    viewer::attach(peer, show, history);
                }
                if control {
                    self.give_control(id);
                    if let Some(size) = size {
                        self.resize(Size(size.0, size.1));
                    }
                }
                None
            }
            Some(Ask::Type) => {
                self.typed_by(id, &bytes);
                None
            }
            Some(Ask::Resize { size }) => {
                if self.has_control(id) {
                    self.resize(Size(size.0, size.1));
                }
                None
            }
            Some(Ask::TakeControl) => {
                self.give_control(id);
                None
            }
            Some(Ask::End { grace_ms }) => {
                self.end(id, Duration::from_millis(grace_ms));
                None
            }
        };
        if let Some(say) = say {
            self.tell(id, &say);
        }
    }

    fn peer(&mut self, id: u64) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.id == id)
    }

    fn become_role(&mut self, id: u64, role: Role) {
        if let Some(peer) = self.peer(id) {
            peer.role = role;
        }
    }

    fn screen(&mut self) -> Option<ao_ports::Screen> {
        self.catch_up();
        let terminal = self.terminal.as_ref()?;
        let (seen, size) = (terminal.see(), terminal.size());
        Some(ao_ports::Screen {
            lines: seen.lines,
            cursor: seen.cursor,
            size: (size.0, size.1),
            offset: self.kept.offset(),
            bracketed_paste: seen.bracketed_paste,
            alternate: seen.alternate,
            typed: self.typed,
        })
    }

    fn has_control(&mut self, id: u64) -> bool {
        matches!(self.peer(id), Some(Peer { role: Role::Viewer(viewer), .. }) if viewer.has_control)
    }

    /// Only one viewer says how large the terminal is.
    fn give_control(&mut self, id: u64) {
        for peer in &mut self.peers {
            let Role::Viewer(viewer) = &mut peer.role else { continue };
            let yours = peer.id == id;
            if viewer.has_control != yours {
                viewer.has_control = yours;
                peer.say(&Say::Control { yours }, &[]);
            }
        }
    }

    fn typed_by(&mut self, id: u64, bytes: &[u8]) {
        let is_viewer = matches!(self.peer(id), Some(Peer { role: Role::Viewer(_), .. }));
        if !is_viewer || self.exit.is_some() || self.program.input().is_none() {
            return;
        }
        let sorted = typing::sort(bytes);
        self.input.add(sorted.bytes);
        if !sorted.typed {
            return;
        }
        let at = now();
        self.typed = Some(at);
        for peer in &mut self.peers {
            let Role::Subscriber { told_typing, .. } = &mut peer.role else { continue };
            if told_typing.is_none_or(|told| told.elapsed() >= TYPING) {
                *told_typing = Some(Instant::now());
                peer.say(&Say::Typed { at }, &[]);
            }
        }
    }
}
