//! The screen of a program, kept by a headless emulator.
//!
//! It has no scrollback: lines that scrolled away are in the recorded output. So its whole state is one screen, and a
//! keyframe can express all of it.

mod flood;
mod handler;
mod keyframe;
mod pen;
mod sequences;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::time::Duration;

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, Term, TermMode};
use alacritty_terminal::vte::ansi::{Processor, Rgb, Timeout};

use self::handler::WatchedTerm;
use self::sequences::UnfinishedSequence;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminalSize(pub(crate) u16, pub(crate) u16);

impl TerminalSize {
    /// Clamps to a sensible size. The upper bound also bounds the memory of the emulator.
    pub(crate) fn sane(self) -> TerminalSize {
        TerminalSize(self.0.clamp(2, 1000), self.1.clamp(2, 500))
    }
}

impl Dimensions for TerminalSize {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        self.1.into()
    }

    fn columns(&self) -> usize {
        self.0.into()
    }
}

/// The terminal of a program.
pub(crate) struct EmulatedTerminal {
    screen: WatchedTerm<TerminalReplies>,
    parser: Processor<NoSyncDelay>,
    waiting: UnfinishedSequence,
    replies: TerminalReplies,
}

/// The visible state of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScreenView {
    pub(crate) lines: Vec<String>,
    /// Row and column.
    pub(crate) cursor: (u16, u16),
    pub(crate) bracketed_paste: bool,
    pub(crate) alternate: bool,
}

impl EmulatedTerminal {
    pub(crate) fn new(size: TerminalSize) -> EmulatedTerminal {
        let replies = TerminalReplies { bytes: Rc::default(), size: Rc::new(RefCell::new(size)) };
        let config = Config { scrolling_history: 0, ..Config::default() };
        EmulatedTerminal {
            screen: WatchedTerm::new(Term::new(config, &size, replies.clone())),
            parser: Processor::new(),
            waiting: UnfinishedSequence::default(),
            replies,
        }
    }

    /// Processes output of the program.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let EmulatedTerminal { screen, parser, waiting, .. } = self;
        let fed = std::panic::catch_unwind(AssertUnwindSafe(|| {
            waiting.take(bytes, |whole| {
                let rows = screen.term.screen_lines();
                let scrolls = screen.region == (0..rows);
                parser.advance(screen, if scrolls { flood::visible(whole, rows) } else { whole });
            });
        }));
        // A panic of the emulator costs the picture until the next repaint, and not the program.
        if fed.is_err() {
            *self = EmulatedTerminal::new(self.size());
        }
    }

    /// Takes the replies of the terminal to the program's queries.
    pub(crate) fn answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.replies.bytes.borrow_mut())
    }

    pub(crate) fn size(&self) -> TerminalSize {
        *self.replies.size.borrow()
    }

    pub(crate) fn resize(&mut self, size: TerminalSize) {
        *self.replies.size.borrow_mut() = size;
        if std::panic::catch_unwind(AssertUnwindSafe(|| self.screen.resize(size))).is_err() {
            *self = EmulatedTerminal::new(size);
        }
    }

    /// Returns the exact state, as output that brings any terminal of this size into it.
    pub(crate) fn keyframe(&self) -> Vec<u8> {
        let mut bytes = keyframe::of(&self.screen);
        bytes.extend_from_slice(self.waiting.bytes());
        bytes
    }

    pub(crate) fn see(&self) -> ScreenView {
        let term = &self.screen.term;
        let (grid, mode) = (term.grid(), term.mode());
        let line = |line: i32| {
            let row = &grid[Line(line)];
            let mut text = String::new();
            for cell in (0..term.columns()).map(|column| &row[Column(column)]) {
                if cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
                    continue;
                }
                text.push(if cell.flags.contains(Flags::HIDDEN) || cell.c == '\t' { ' ' } else { cell.c });
                text.extend(cell.zerowidth().into_iter().flatten());
            }
            text.truncate(text.trim_end().len());
            text
        };
        let point = grid.cursor.point;
        ScreenView {
            lines: (0..term.screen_lines() as i32).map(line).collect(),
            cursor: (point.line.0 as u16, point.column.0 as u16),
            bracketed_paste: mode.contains(TermMode::BRACKETED_PASTE),
            alternate: mode.contains(TermMode::ALT_SCREEN),
        }
    }
}

/// Collects the replies of the emulator to the program.
#[derive(Clone)]
struct TerminalReplies {
    bytes: Rc<RefCell<Vec<u8>>>,
    size: Rc<RefCell<TerminalSize>>,
}

impl EventListener for TerminalReplies {
    fn send_event(&self, event: Event) {
        let text = match event {
            Event::PtyWrite(text) => text,
            // Programs ask for these to choose readable colours. Most terminals that agents run in are dark.
            Event::ColorRequest(256 | 258, answer) => answer(Rgb { r: 0xe5, g: 0xe5, b: 0xe5 }),
            Event::ColorRequest(257, answer) => answer(Rgb { r: 0, g: 0, b: 0 }),
            Event::TextAreaSizeRequest(answer) => {
                let TerminalSize(num_cols, num_lines) = *self.size.borrow();
                answer(WindowSize { num_lines, num_cols, cell_width: 8, cell_height: 16 })
            }
            _ => return,
        };
        let mut bytes = self.bytes.borrow_mut();
        // Bounded: a program that asks and never reads gets no more replies.
        if bytes.len() < 64 * 1024 {
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

/// Shows synchronised updates at once. Delaying them only helps the eye; here it would hide state from keyframes.
#[derive(Default)]
struct NoSyncDelay;

impl Timeout for NoSyncDelay {
    fn set_timeout(&mut self, _: Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}
