//! Answers the requests of connected clients.

use std::time::{Duration, Instant};

use super::holder::ProgramHolder;
use super::input::WriteTaken;
use super::peer::{PeerRole, ShimPeer};
use super::terminal::TerminalSize;
use super::typing;
use super::viewer::{self, ViewerSource};
use crate::host::attempt_dir::now;
use crate::process::protocol::{ShimMessage, ShimRequest};

pub(super) const ENDED: &str = "the program has ended and reads nothing any more";
pub(super) const CLOSED: &str = "the program has closed its input and reads nothing any more";
const NO_INPUT: &str = "the program was started without an input, so nothing can be written to it";
const FULL: &str = "the program has not read what it was told before";
const NO_TERMINAL: &str = "the program has no terminal";
const NOT_KNOWN: &str = "the shim of this process is of another version and does not know how to do this";

/// Shortest time between two reports of typing to the daemon.
const TYPING: Duration = Duration::from_secs(1);

impl ProgramHolder {
    pub(super) fn answer(&mut self, id: u64, ask: Option<ShimRequest>, bytes: Vec<u8>) {
        let failed = |why: &str| Some(ShimMessage::Failed { why: why.into() });
        let say = match ask {
            None => failed(NOT_KNOWN),
            Some(ShimRequest::Subscribe) => {
                self.become_role(id, PeerRole::Subscriber { beyond: None, notified_typing: None });
                Some(ShimMessage::Here { record: self.record.clone(), exit: self.exit })
            }
            Some(ShimRequest::Beyond { offset }) => {
                if let Some(ShimPeer { role: PeerRole::Subscriber { beyond, .. }, .. }) = self.peer(id) {
                    *beyond = Some(beyond.map_or(offset, |before| before.min(offset)));
                }
                None
            }
            Some(ShimRequest::Write { .. }) if self.program.input().is_none() => failed(NO_INPUT),
            Some(ShimRequest::Write { .. }) if self.exit.is_some() => failed(ENDED),
            Some(ShimRequest::Write { number }) => match self.input.write(number, bytes, id) {
                WriteTaken::Waits => None,
                WriteTaken::AlreadyWritten => Some(ShimMessage::Written { again: true }),
                WriteTaken::Full => failed(FULL),
            },
            Some(ShimRequest::Screen) => match self.screen() {
                Some(screen) => Some(ShimMessage::Screen { screen }),
                None => failed(NO_TERMINAL),
            },
            Some(ShimRequest::Attach { size, control, history }) => {
                self.catch_up();
                let terminal = self.terminal.as_ref().map(|terminal| (terminal, self.fed));
                let kept = self.log.as_ref().unwrap_or(&self.kept);
                let show = ViewerSource { kept, terminal, exit: self.exit };
                if let Some(peer) = self.peers.iter_mut().find(|peer| peer.id == id) {
                    viewer::attach(peer, show, history);
                }
                if control {
                    self.give_control(id);
                    if let Some(size) = size {
                        self.resize(TerminalSize(size.0, size.1));
                    }
                }
                None
            }
            Some(ShimRequest::Type) => {
                self.typed_by(id, &bytes);
                None
            }
            Some(ShimRequest::Resize { size }) => {
                if self.has_control(id) {
                    self.resize(TerminalSize(size.0, size.1));
                }
                None
            }
            Some(ShimRequest::TakeControl) => {
                self.give_control(id);
                None
            }
            Some(ShimRequest::End { grace_ms }) => {
                self.end(id, Duration::from_millis(grace_ms));
                None
            }
        };
        if let Some(say) = say {
            self.tell(id, &say);
        }
    }

    fn peer(&mut self, id: u64) -> Option<&mut ShimPeer> {
        self.peers.iter_mut().find(|peer| peer.id == id)
    }

    fn become_role(&mut self, id: u64, role: PeerRole) {
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
        matches!(self.peer(id), Some(ShimPeer { role: PeerRole::Viewer(viewer), .. }) if viewer.has_control)
    }

    /// Gives control to one viewer, which alone sets the size of the terminal.
    fn give_control(&mut self, id: u64) {
        for peer in &mut self.peers {
            let PeerRole::Viewer(viewer) = &mut peer.role else { continue };
            let yours = peer.id == id;
            if viewer.has_control != yours {
                viewer.has_control = yours;
                peer.say(&ShimMessage::Control { yours }, &[]);
            }
        }
    }

    fn typed_by(&mut self, id: u64, bytes: &[u8]) {
        let is_viewer = matches!(self.peer(id), Some(ShimPeer { role: PeerRole::Viewer(_), .. }));
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
            let PeerRole::Subscriber { notified_typing, .. } = &mut peer.role else { continue };
            if notified_typing.is_none_or(|last| last.elapsed() >= TYPING) {
                *notified_typing = Some(Instant::now());
                peer.say(&ShimMessage::Typed { at }, &[]);
            }
        }
    }
}
