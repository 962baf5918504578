//! The terminal: raw while the agent runs, restored at the end, and read by a thread of its own.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::app::AppEvent;

/// A terminal in raw mode.
#[derive(Debug)]
pub(super) struct RawTerminal {
    before: Termios,
    bracketed: bool,
    alternate: bool,
    /// Pause after each drawn line.
    pub(super) pause: Duration,
}

impl RawTerminal {
    pub(super) fn take(bracketed: bool, alternate: bool) -> Result<RawTerminal, String> {
        if !io::stdin().is_terminal() {
            return Err("it needs a terminal".into());
        }
        let before = tcgetattr(stdin()).map_err(|err| format!("the terminal cannot be read: {err}"))?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)
            .map_err(|err| format!("the terminal cannot be set: {err}"))?;
        let terminal = RawTerminal { before, bracketed, alternate, pause: Duration::ZERO };
        if alternate {
            put("\x1b[?1049h");
        }
        if bracketed {
            put("\x1b[?2004h");
        }
        Ok(terminal)
    }

    /// Returns columns and rows. Queried each time, because windows are resized.
    pub(super) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(stdout()) {
            Ok(size) if size.ws_col >= 20 && size.ws_row >= 8 => (size.ws_col.into(), size.ws_row.into()),
            _ => (80, 24),
        }
    }

    /// Draws all lines, and sets the cursor to a row and column.
    pub(super) fn draw(&self, lines: &[String], cursor: (usize, usize)) {
        let place = format!("\x1b[{};{}H", cursor.0 + 1, cursor.1 + 1);
        let mut frame = String::from("\x1b[?25l\x1b[H");
        for (row, line) in lines.iter().enumerate() {
            frame.push_str(&format!("\x1b[{};1H\x1b[2K{line}", row + 1));
            if !self.pause.is_zero() {
                put(&frame);
                frame.clear();
                thread::sleep(self.pause);
            }
        }
        put(&(frame + "\x1b[J" + &place + "\x1b[?25h"));
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if self.bracketed {
            put("\x1b[?2004l");
        }
        put(if self.alternate { "\x1b[?1049l" } else { "\r\n" });
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Forwards input, until the terminal is gone.
pub(super) fn read(to: Sender<AppEvent>) {
    thread::spawn(move || {
        let mut piece = [0; 4096];
        let mut stdin = io::stdin().lock();
        loop {
            let happened = match stdin.read(&mut piece) {
                Ok(0) | Err(_) => AppEvent::HungUp,
                Ok(length) => AppEvent::Typed(piece[..length].to_vec()),
            };
            let last = matches!(happened, AppEvent::HungUp);
            if to.send(happened).is_err() || last {
                return;
            }
        }
    });
}

fn put(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}
