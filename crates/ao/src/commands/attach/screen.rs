//! The content of the viewer's window. Pure: takes input and returns the bytes to write.
//!
//! If the agent's terminal is as large as the window, its output is passed through. Otherwise, and while there is a
//! status line, an emulator takes the output, and as much of its screen as fits is drawn above that line.

use std::num::NonZero;

use super::own_terminal::CALM;

type WindowSize = (u16, u16);

pub(super) struct ViewerScreen {
    emulator: vt100::Parser,
    /// Size of the agent's terminal.
    size: WindowSize,
    window: WindowSize,
    line: Option<String>,
    is_direct: bool,
    /// The window does not show the emulator's current screen.
    is_stale: bool,
    /// The beginning of an incomplete escape sequence.
    held: Vec<u8>,
}

impl ViewerScreen {
    pub(super) fn new(window: WindowSize) -> ViewerScreen {
        ViewerScreen {
            emulator: emulator(window),
            size: window,
            window,
            line: None,
            is_direct: false,
            is_stale: true,
            held: vec![],
        }
    }

    /// Takes the whole state of the terminal.
    pub(super) fn keyframe(&mut self, size: WindowSize, bytes: &[u8]) -> Vec<u8> {
        // A process without a terminal has no size.
        self.size = if size.0 == 0 || size.1 == 0 { self.window } else { size };
        self.emulator = emulator(self.size);
        self.emulator.process(bytes);
        self.held.clear();
        self.is_stale = true;
        if !self.is_to_be_direct() {
            return self.leave_direct();
        }
        (self.is_direct, self.is_stale) = (true, false);
        // The keyframe fits a terminal in any state, but does not reset key encodings.
        let mut out = CALM.to_vec();
        self.pass(bytes, &mut out);
        out
    }

    pub(super) fn output(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.is_direct {
            self.emulator.process(bytes);
            self.is_stale = true;
            return out;
        }
        let switched = self.pass(bytes, &mut out);
        self.emulator.process(bytes);
        if switched {
            out.extend(self.repaint());
        }
        out
    }

    pub(super) fn set_window(&mut self, window: WindowSize) -> Vec<u8> {
        self.window = window;
        self.turn()
    }

    /// Shows a line below the screen, or removes it.
    pub(super) fn set_line(&mut self, line: Option<String>) -> Vec<u8> {
        if self.line == line {
            return vec![];
        }
        self.line = line;
        self.turn()
    }

    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Redraws everything, for a window in an unknown state.
    pub(super) fn again(&mut self) -> Vec<u8> {
        self.is_stale = true;
        if self.is_direct { self.repaint() } else { self.draw() }
    }

    /// Draws the part that fits, and the line below it.
    pub(super) fn draw(&mut self) -> Vec<u8> {
        if self.is_direct || !self.is_stale {
            return vec![];
        }
        self.is_stale = false;
        let (columns, rows) = (self.window.0, self.window.1.saturating_sub(1));
        let screen = self.emulator.screen();
        let (row, column) = screen.cursor_position();
        // Show the part around the cursor, where changes happen.
        let top = (row + 1).saturating_sub(rows);
        let mut out = String::from("\x1b[?2026h\x1b[?25l\x1b[?7l\x1b[0m");
        let mut lines = screen.rows_formatted(0, columns).skip(usize::from(top));
        for at in 1..=rows {
            out += &format!("\x1b[{at};1H\x1b[0m\x1b[2K");
            out += &lines.next().unwrap_or_default();
        }
        let mut line = format!(" {}", self.line.as_deref().unwrap_or("the terminal has another size"));
        if self.size.0 > columns || self.size.1 > rows {
            line += &format!(" · this shows what fits of {}×{}", self.size.0, self.size.1);
        }
        let line: String = line.chars().take(usize::from(columns)).collect();
        let width = usize::from(columns);
        out += &format!("\x1b[{};1H\x1b[0;7m{line:width$}\x1b[0m\x1b[?7h", self.window.1);
        if !screen.hide_cursor() && row >= top && row - top < rows && column < columns {
            out += &format!("\x1b[{};{}H\x1b[?25h", row - top + 1, column + 1);
        }
        out += "\x1b[?2026l";
        out.into_bytes()
    }

    fn is_to_be_direct(&self) -> bool {
        self.line.is_none() && self.size == self.window
    }

    /// Switches between passing through and drawing, if needed.
    fn turn(&mut self) -> Vec<u8> {
        self.is_stale = true;
        match (self.is_direct, self.is_to_be_direct()) {
            (false, true) => {
                self.is_direct = true;
                self.repaint()
            }
            (true, false) => self.leave_direct(),
            _ => vec![],
        }
    }

    fn leave_direct(&mut self) -> Vec<u8> {
        let was_direct = std::mem::replace(&mut self.is_direct, false);
        self.held.clear();
        let mut out = if was_direct { CALM.to_vec() } else { vec![] };
        out.extend(self.draw());
        out
    }

    /// Repaints from the emulator, as far as it tracks the state.
    fn repaint(&mut self) -> Vec<u8> {
        self.is_stale = false;
        let screen = self.emulator.screen();
        let mut out = CALM.to_vec();
        out.extend_from_slice(b"\x1b[H\x1b[2J");
        out.extend(screen.contents_formatted().into_bytes());
        out.extend(screen.input_mode_formatted().into_bytes());
        out
    }

    /// Passes on all but the switches between the main and the alternate screen: the viewer's main screen is not the
    /// program's. Returns true if there was one.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = std::mem::take(&mut self.held);
        rest.extend_from_slice(bytes);
        let (mut rest, mut switched) = (&rest[..], false);
        while let Some(at) = rest.iter().position(|byte| *byte == 0x1b) {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            let is_mode = rest.len() < 3 && b"\x1b[?".starts_with(rest) || rest.starts_with(b"\x1b[?");
            let end =
                rest.iter().skip(3).position(|byte| !matches!(byte, b'0'..=b'9' | b';')).map(|end| end + 3);
            match end {
                _ if !is_mode => {
                    out.push(0x1b);
                    rest = &rest[1..];
                }
                // A short rest may be the beginning of a sequence; a longer one is none that we know.
                None if rest.len() < 64 => {
                    self.held = rest.to_vec();
                    return switched;
                }
                None => break,
                Some(end) => {
                    let sequence = &rest[..=end];
                    let kept = without_switches(sequence);
                    switched |= kept.len() < sequence.len();
                    out.extend(kept);
                    rest = &rest[end + 1..];
                }
            }
        }
        out.extend_from_slice(rest);
        switched
    }
}

/// Removes the modes that switch the screen from a private mode sequence.
fn without_switches(sequence: &[u8]) -> Vec<u8> {
    let (&end, modes) = sequence[3..].split_last().expect("it has an end");
    if !matches!(end, b'h' | b'l') {
        return sequence.to_vec();
    }
    let kept: Vec<&[u8]> = modes
        .split(|byte| *byte == b';')
        .filter(|mode| !matches!(*mode, b"47" | b"1047" | b"1048" | b"1049"))
        .collect();
    if kept.is_empty() {
        return vec![];
    }
    [b"\x1b[?", &kept.join(&b';')[..], &[end]].concat()
}

fn emulator((columns, rows): WindowSize) -> vt100::Parser {
    let of = |size: u16| NonZero::new(size.max(1)).expect("at least one");
    vt100::Parser::new(of(rows), of(columns), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The viewer's terminal, and its content.
    struct Window(vt100::Parser);

    impl Window {
        fn new(size: WindowSize) -> Window {
            Window(emulator(size))
        }

        fn takes(&mut self, bytes: &[u8]) -> String {
            self.0.process(bytes);
            self.0.screen().contents().trim_end().to_owned()
        }
    }

    #[test]
    fn what_is_as_large_as_the_window_is_passed_on_but_for_switches_of_the_screen() {
        let mut picture = ViewerScreen::new((20, 4));
        let mut window = Window::new((20, 4));
        window.takes(b"\x1b[?1049h");
        assert_eq!(window.takes(&picture.keyframe((20, 4), b"\x1b[?1049l\x1b[H\x1b[2Jhello")), "hello");
        let out = picture.output(b"\r\n\x1b[?2004h\x1b[4:3mcurly\x1b[m");
        assert_eq!(out, b"\r\n\x1b[?2004h\x1b[4:3mcurly\x1b[m", "as it is");
        assert_eq!(window.takes(&out), "hello\ncurly");
        assert_eq!(window.takes(&picture.output(b"\x1b[?10")), "hello\ncurly");
        assert_eq!(window.takes(&picture.output(b"49h\x1b[2J\x1b[Hfull")), "full");
        assert_eq!(window.takes(&picture.output(b"\x1b[?1049l")), "hello\ncurly", "as the program left it");
        assert!(window.0.screen().alternate_screen(), "the viewer's own screen is never touched");
        assert!(window.0.screen().bracketed_paste());
    }

    #[test]
    fn of_a_larger_terminal_what_fits_is_shown_where_the_cursor_is() {
        let mut picture = ViewerScreen::new((10, 3));
        let mut window = Window::new((60, 3));
        window.takes(&picture.set_line(Some("looking".into())));
        picture.set_window((60, 3));
        window.takes(&picture.keyframe((70, 6), b"one\r\ntwo\r\nthree\r\nfour"));
        assert_eq!(window.takes(&picture.draw()), "three\nfour\n looking · this shows what fits of 70×6");
        assert_eq!(picture.draw(), b"", "once is enough");
        picture.output(b"\x1b[1;1H");
        assert!(window.takes(&picture.draw()).starts_with("one\ntwo\n looking"));
        assert_eq!(window.0.screen().cursor_position(), (0, 0));
    }

    #[test]
    fn modes_do_not_outlive_the_program_that_wanted_them() {
        let mut picture = ViewerScreen::new((20, 4));
        let mut window = Window::new((20, 4));
        window.takes(&picture.keyframe((20, 4), b"\x1b[?1000h\x1b[?1006h\x1b[?2004hprompt"));
        assert!(window.0.screen().bracketed_paste());
        let shown = window.takes(&picture.set_line(Some("another viewer has control".into())));
        assert_eq!(shown, "prompt\n\n\n another viewer has");
        assert_eq!(window.0.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert!(!window.0.screen().bracketed_paste());
        let shown = window.takes(&picture.set_line(None));
        assert_eq!(shown, "prompt");
        assert!(window.0.screen().bracketed_paste(), "the program gets what it asked for again");
    }
}
