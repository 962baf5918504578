//! The viewer's own terminal: taken over, and restored on every way out.

use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Resets all that a program may have set in a terminal: reports of mouse, focus and paste, key encodings,
/// synchronised drawing, a scroll region, character sets, colours, the cursor.
pub(super) const CALM: &[u8] = b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1007l\x1b[?1015l\
    \x1b[?1016l\x1b[?2004l\x1b[?2026l\x1b[?2031l\x1b[?1l\x1b>\x1b[<99u\x1b[>4m\x1b[?6l\x1b[?7h\x1b[4l\x1b[20l\x1b[r\x1b(B\x0f\
    \x1b[0m\x1b]8;;\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b[0 q\x1b[?25h";

/// Saves the title and switches to the alternate screen.
const ENTER: &[u8] = b"\x1b[22;0t\x1b[?1049h\x1b[H\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[23;0t";

/// The terminal's settings before it was taken over. Static, because the panic hook needs them too.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal, taken over. Restores it when dropped.
#[derive(Debug)]
pub(super) struct OwnTerminal(());

impl OwnTerminal {
    pub(super) fn take() -> io::Result<OwnTerminal> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            // A panic message would be lost on the alternate screen, and its lines would be misaligned.
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        let own = OwnTerminal(());
        own.take_again()?;
        Ok(own)
    }

    /// Takes the terminal over again after it was given back.
    pub(super) fn take_again(&self) -> io::Result<()> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        BEFORE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(before);
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        self.write(ENTER)
    }

    pub(super) fn give_back(&self) {
        give_back();
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Returns columns and rows of the window, or 80 by 24 if unknown.
    pub(super) fn size(&self) -> (u16, u16) {
        match tcgetwinsize(stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => (80, 24),
        }
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else { return };
    // If the terminal is gone, there is nothing to restore.
    let mut out = io::stdout().lock();
    let _ = out.write_all(CALM).and_then(|()| out.write_all(LEAVE)).and_then(|()| out.flush());
    let _ = tcsetattr(stdin(), OptionalActions::Flush, &before);
}
