//! Writes the state of a terminal as output.
//!
//! Fed to any terminal of the same size, regardless of its content, a keyframe brings it to this state: both screens,
//! the cursors, saved state, the region, tab stops, character sets, modes and colours. It does not use the full reset,
//! because that would clear a person's scrollback.
//!
//! It cannot express: pushed titles, the character that a repeat would repeat, halves of wide characters whose other
//! half was cut off, and that a line continues below while the cursor waits at its end, which takes a line that was
//! moved under it. The next repaint of the program corrects those.

use std::fmt::Write;

use alacritty_terminal::event::EventListener;
use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorShape, StandardCharset};

use super::handler::WatchedTerm;
use super::pen::Pen;

const CHARSETS: [(CharsetIndex, char, &str); 4] = [
    (CharsetIndex::G0, '(', "\x0f"),
    (CharsetIndex::G1, ')', "\x0e"),
    (CharsetIndex::G2, '*', "\x1bn"),
    (CharsetIndex::G3, '+', "\x1bo"),
];

/// Private modes that are simply on or off.
const SWITCHES: [(TermMode, u16); 12] = [
    (TermMode::APP_CURSOR, 1),
    (TermMode::LINE_WRAP, 7),
    (TermMode::SHOW_CURSOR, 25),
    (TermMode::MOUSE_REPORT_CLICK, 1000),
    (TermMode::MOUSE_DRAG, 1002),
    (TermMode::MOUSE_MOTION, 1003),
    (TermMode::FOCUS_IN_OUT, 1004),
    (TermMode::UTF8_MOUSE, 1005),
    (TermMode::SGR_MOUSE, 1006),
    (TermMode::ALTERNATE_SCROLL, 1007),
    (TermMode::URGENCY_HINTS, 1042),
    (TermMode::BRACKETED_PASTE, 2004),
];

pub(super) fn of<T: EventListener>(screen: &WatchedTerm<T>) -> Vec<u8> {
    let mut frame = FrameWriter::default();
    frame.prelude(screen);
    let grid = screen.term.grid();
    match &screen.main {
        Some(main) => {
            frame.paint(main);
            frame.place(main, &main.cursor, 0);
            frame.say("\x1b[?1049h");
            frame.ascii();
        }
        // Even if nothing was saved there: the viewer's terminal may have saved something.
        None => {
            frame.say("\x1b[?1049h");
            frame.save(grid, &screen.alternate_saved);
            frame.say("\x1b[?1049l");
        }
    }
    frame.save(grid, &grid.saved_cursor);
    frame.paint(grid);
    if screen.region != (0..grid.screen_lines()) {
        let _ = write!(frame.text, "\x1b[{};{}r", screen.region.start + 1, screen.region.end);
    }
    frame.cursor(screen);
    frame.modes(*screen.term.mode(), screen);
    frame.text.into_bytes()
}

#[derive(Default)]
struct FrameWriter {
    text: String,
    pen: Pen,
}

impl FrameWriter {
    fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Brings a terminal in any state into a known one.
    fn prelude<T: EventListener>(&mut self, screen: &WatchedTerm<T>) {
        self.say("\x1b[?1049l\x1b[?6l\x1b[?7h\x1b[4l\x1b[20l\x1b[r\x1b[0m\x1b]8;;\x1b\\");
        self.ascii();
        self.say("\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\");
        self.say("\x1b[H\x1b[2J\x1b[3g");
        for (column, _) in screen.tabs.iter().enumerate().filter(|(_, stop)| **stop) {
            let _ = write!(self.text, "\x1b[1;{}H\x1bH", column + 1);
        }
        let colors = screen.term.colors();
        for index in 0..=258 {
            let Some(rgb) = colors[index] else { continue };
            let what = match index {
                256..=258 => (index - 246).to_string(),
                _ => format!("4;{index}"),
            };
            let _ = write!(self.text, "\x1b]{what};rgb:{:02x}/{:02x}/{:02x}\x1b\\", rgb.r, rgb.g, rgb.b);
        }
        if let Some(title) = &screen.title {
            let _ = write!(self.text, "\x1b]2;{title}\x1b\\");
        }
    }

    fn ascii(&mut self) {
        self.say("\x1b(B\x1b)B\x1b*B\x1b+B\x0f");
    }

    /// Makes the terminal save a cursor, and clears the screen, since that may write something.
    fn save(&mut self, grid: &Grid<Cell>, cursor: &Cursor<Cell>) {
        let empty = Grid::new(grid.screen_lines(), grid.columns(), 0);
        self.place(&empty, cursor, 0);
        self.say("\x1b7");
        self.ascii();
        self.pen.to(&Cell::default(), &mut self.text);
        self.say("\x1b[H\x1b[2J");
    }

    /// Writes the lines of a cleared screen. Wrapped lines are wrapped again, so that a later resize joins them as it
    /// would have.
    fn paint(&mut self, grid: &Grid<Cell>) {
        let (lines, columns) = (grid.screen_lines(), grid.columns());
        let is_wrapped =
            |line: usize| grid[Line(line as i32)][Column(columns - 1)].flags.contains(Flags::WRAPLINE);
        // The last line can be wrapped too, if it was scrolled down. It is written one line above, and moved down.
        let last_is_wrapped = is_wrapped(lines - 1);
        if last_is_wrapped {
            let _ = write!(self.text, "\x1b[{};1H", lines - 1);
            self.line(grid, lines - 1, columns);
            self.pen.to(&Cell::default(), &mut self.text);
            self.say(" \x1b[T");
        }
        let mut goes_on = false;
        for line in 0..lines {
            let wraps = is_wrapped(line);
            let is_done = last_is_wrapped && line == lines - 1;
            let row = &grid[Line(line as i32)];
            let used = (0..columns).rev().find(|column| row[Column(*column)] != Cell::default());
            let mut count = used.map_or(0, |column| column + 1);
            if is_done {
                count = 0;
            }
            if goes_on {
                count = count.max(if row[Column(0)].flags.contains(Flags::WIDE_CHAR) { 2 } else { 1 });
            } else if count > 0 {
                let _ = write!(self.text, "\x1b[{};1H", line + 1);
            }
            // A wide character that did not fit leaves a gap, which is reproduced.
            let gap = wraps
                && row[Column(columns - 1)].flags.contains(Flags::LEADING_WIDE_CHAR_SPACER)
                && line + 1 < lines
                && grid[Line(line as i32 + 1)][Column(0)].flags.contains(Flags::WIDE_CHAR);
            self.line(grid, line, if gap { columns - 1 } else { count });
            goes_on = wraps && line + 1 < lines;
        }
    }

    /// Writes the first `count` cells of a line.
    fn line(&mut self, grid: &Grid<Cell>, line: usize, count: usize) {
        let row = &grid[Line(line as i32)];
        let is_spacer = |column: usize| {
            column < grid.columns() && row[Column(column)].flags.contains(Flags::WIDE_CHAR_SPACER)
        };
        let mut column = 0;
        while column < count {
            let cell = &row[Column(column)];
            self.pen.to(cell, &mut self.text);
            let is_wide = cell.flags.contains(Flags::WIDE_CHAR);
            match cell.c {
                '\t' => self.text.push(' '),
                // Half of a wide character is not a character.
                _ if is_wide && !is_spacer(column + 1) => self.text.push(' '),
                c => self.text.push(c),
            }
            self.text.extend(cell.zerowidth().into_iter().flatten());
            column += if is_wide && is_spacer(column + 1) { 2 } else { 1 };
        }
    }

    /// Places the cursor, with its attributes. The row is counted from `above`.
    fn place(&mut self, grid: &Grid<Cell>, cursor: &Cursor<Cell>, above: usize) {
        let (line, last) = (cursor.point.line.0.max(0) as usize, grid.columns() - 1);
        let mut column = cursor.point.column.0.min(last);
        let fills = cursor.input_needs_wrap && column == last && line < grid.screen_lines();
        if fills && grid[Line(line as i32)][Column(last)].flags.contains(Flags::WIDE_CHAR_SPACER) && last > 0
        {
            column = last - 1;
        }
        let _ = write!(self.text, "\x1b[{};{}H", line - above.min(line) + 1, column + 1);
        if fills {
            // The line is full and the next character wraps: that state exists only after the last one was written.
            self.ascii();
            let row = &grid[Line(line as i32)];
            let cell = &row[Column(column)];
            self.pen.to(cell, &mut self.text);
            self.text.push(if cell.c == '\t' { ' ' } else { cell.c });
            self.text.extend(cell.zerowidth().into_iter().flatten());
        }
        self.pen.to(&cursor.template, &mut self.text);
        for (index, mark, _) in CHARSETS {
            let charset = match cursor.charsets[index] {
                StandardCharset::Ascii => 'B',
                StandardCharset::SpecialCharacterAndLineDrawing => '0',
            };
            self.say("\x1b");
            self.text.extend([mark, charset]);
        }
    }

    fn cursor<T: EventListener>(&mut self, screen: &WatchedTerm<T>) {
        let grid = screen.term.grid();
        let line = grid.cursor.point.line.0.max(0) as usize;
        let origin = screen.term.mode().contains(TermMode::ORIGIN);
        if grid.cursor == grid.saved_cursor {
            self.say(if origin { "\x1b[?6h\x1b8" } else { "\x1b8" });
        } else if !origin {
            self.place(grid, &grid.cursor, 0);
        } else if screen.region.contains(&line) {
            self.say("\x1b[?6h");
            self.place(grid, &grid.cursor, screen.region.start);
        } else {
            // No sequence can move there any more, but a restore can.
            self.place(grid, &grid.cursor, 0);
            self.say("\x1b7\x1b[?6h\x1b8");
        }
        let active = CHARSETS.into_iter().find(|(index, ..)| *index == screen.charset);
        self.say(active.map_or("\x0f", |(_, _, shift)| shift));
    }

    fn modes<T: EventListener>(&mut self, mode: TermMode, screen: &WatchedTerm<T>) {
        // For modes that exclude each other: off first, then the one that is on.
        for wanted in [false, true] {
            for (_, number) in SWITCHES.iter().filter(|(flag, _)| mode.contains(*flag) == wanted) {
                let _ = write!(self.text, "\x1b[?{number}{}", if wanted { 'h' } else { 'l' });
            }
        }
        self.say(if mode.contains(TermMode::INSERT) { "\x1b[4h" } else { "\x1b[4l" });
        self.say(if mode.contains(TermMode::LINE_FEED_NEW_LINE) { "\x1b[20h" } else { "\x1b[20l" });
        self.say(if mode.contains(TermMode::APP_KEYPAD) { "\x1b=" } else { "\x1b>" });
        let style = screen.term.cursor_style();
        let shape = match style.shape {
            CursorShape::Underline => 3,
            CursorShape::Beam => 5,
            _ => 1,
        };
        let _ = write!(self.text, "\x1b[{} q", if style.blinking { shape } else { shape + 1 });
    }
}
