//! Wraps the emulator and tracks the state that it does not expose.
//!
//! `Term` exposes its active screen, its modes and its colours. A keyframe needs more: the scrolling region, the tab
//! stops, the active character set, the title, and the hidden screen. They are tracked here on their way in. All other
//! instructions are passed on unchanged.

use std::ops::Range;

use alacritty_terminal::event::EventListener;
use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::term::cell::Cell;
use alacritty_terminal::term::{Term, TermMode};
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, CursorShape, CursorStyle, Handler, Hyperlink, LineClearMode, Mode,
    NamedPrivateMode, PrivateMode, Rgb, StandardCharset, TabulationClearMode,
};

/// Tab stops are at every eighth column, as in all terminals.
const TAB: usize = 8;

/// A terminal whose whole state can be read.
pub(super) struct WatchedTerm<T> {
    pub(super) term: Term<T>,
    /// The lines that scroll, from zero; the end is exclusive.
    pub(super) region: Range<usize>,
    pub(super) tabs: Vec<bool>,
    pub(super) charset: CharsetIndex,
    pub(super) title: Option<String>,
    titles: Vec<Option<String>>,
    /// The main screen, while the alternate one is shown.
    pub(super) main: Option<Grid<Cell>>,
    /// The saved cursor of the alternate screen, while the main one is shown.
    pub(super) alternate_saved: Cursor<Cell>,
}

impl<T: EventListener> WatchedTerm<T> {
    pub(super) fn new(term: Term<T>) -> WatchedTerm<T> {
        let (lines, columns) = (term.screen_lines(), term.columns());
        WatchedTerm {
            term,
            region: 0..lines,
            tabs: default_tabs(columns),
            charset: CharsetIndex::default(),
            title: None,
            titles: Vec::new(),
            main: None,
            alternate_saved: Cursor::default(),
        }
    }

    /// Resizes, as the emulator does.
    pub(super) fn resize(&mut self, size: super::TerminalSize) {
        let (columns, lines) = (size.columns(), size.screen_lines());
        if let Some(main) = &mut self.main {
            main.resize(true, lines, columns);
        }
        let len = self.tabs.len();
        self.tabs.truncate(columns);
        self.tabs.extend((len..columns).map(|column| column % TAB == 0));
        self.region = 0..lines;
        let saved = &mut self.alternate_saved.point;
        saved.line.0 = saved.line.0.min(lines as i32 - 1);
        saved.column.0 = saved.column.0.min(columns - 1);
        self.term.resize(size);
    }

    fn is_alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    fn column(&self) -> usize {
        self.term.grid().cursor.point.column.0
    }
}

pub(super) fn default_tabs(columns: usize) -> Vec<bool> {
    (0..columns).map(|column| column % TAB == 0).collect()
}

/// Passes instructions on unchanged.
macro_rules! hand_on {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(#[inline] fn $name(&mut self, $($arg: $type),*) { self.term.$name($($arg),*); })*
    };
}

impl<T: EventListener> Handler for WatchedTerm<T> {
    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let lines = self.term.screen_lines();
        let bottom = bottom.unwrap_or(lines);
        if top < bottom {
            self.region = top.saturating_sub(1).min(lines)..bottom.min(lines);
        }
        self.term.set_scrolling_region(top, Some(bottom));
    }

    fn set_horizontal_tabstop(&mut self) {
        let column = self.column();
        self.tabs[column] = true;
        self.term.set_horizontal_tabstop();
    }

    fn clear_tabs(&mut self, mode: TabulationClearMode) {
        match mode {
            TabulationClearMode::Current => {
                let column = self.column();
                self.tabs[column] = false;
            }
            TabulationClearMode::All => self.tabs.fill(false),
        }
        self.term.clear_tabs(mode);
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.charset = index;
        self.term.set_active_charset(index);
    }

    fn set_title(&mut self, title: Option<String>) {
        self.title.clone_from(&title);
        self.term.set_title(title);
    }

    fn push_title(&mut self) {
        // Bounded: a program may push forever.
        if self.titles.len() < 16 {
            self.titles.push(self.title.clone());
        }
        self.term.push_title();
    }

    fn pop_title(&mut self) {
        if let Some(title) = self.titles.pop() {
            self.title = title;
        }
        self.term.pop_title();
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) if !self.is_alternate() => {
                let mut main = self.term.grid().clone();
                main.saved_cursor = main.cursor.clone();
                self.main = Some(main);
            }
            PrivateMode::Named(NamedPrivateMode::ColumnMode) => self.region = 0..self.term.screen_lines(),
            _ => {}
        }
        self.term.set_private_mode(mode);
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) if self.is_alternate() => {
                self.alternate_saved = self.term.grid().saved_cursor.clone();
                self.main = None;
            }
            PrivateMode::Named(NamedPrivateMode::ColumnMode) => self.region = 0..self.term.screen_lines(),
            _ => {}
        }
        self.term.unset_private_mode(mode);
    }

    fn reset_state(&mut self) {
        let (lines, columns) = (self.term.screen_lines(), self.term.columns());
        self.region = 0..lines;
        self.tabs = default_tabs(columns);
        self.charset = CharsetIndex::default();
        self.title = None;
        self.titles.clear();
        self.main = None;
        self.alternate_saved = Cursor::default();
        self.term.reset_state();
    }

    hand_on! {
        set_cursor_style(style: Option<CursorStyle>);
        set_cursor_shape(shape: CursorShape);
        input(c: char);
        goto(line: i32, column: usize);
        goto_line(line: i32);
        goto_col(column: usize);
        insert_blank(count: usize);
        move_up(count: usize);
        move_down(count: usize);
        identify_terminal(intermediate: Option<char>);
        device_status(what: usize);
        move_forward(count: usize);
        move_backward(count: usize);
        move_down_and_cr(count: usize);
        move_up_and_cr(count: usize);
        put_tab(count: u16);
        backspace();
        carriage_return();
        linefeed();
        bell();
        substitute();
        newline();
        scroll_up(count: usize);
        scroll_down(count: usize);
        insert_blank_lines(count: usize);
        delete_lines(count: usize);
        erase_chars(count: usize);
        delete_chars(count: usize);
        move_backward_tabs(count: u16);
        move_forward_tabs(count: u16);
        save_cursor_position();
        restore_cursor_position();
        clear_line(mode: LineClearMode);
        clear_screen(mode: ClearMode);
        reverse_index();
        terminal_attribute(attribute: Attr);
        set_mode(mode: Mode);
        unset_mode(mode: Mode);
        report_mode(mode: Mode);
        report_private_mode(mode: PrivateMode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        set_color(index: usize, color: Rgb);
        dynamic_color_sequence(prefix: String, index: usize, terminator: &str);
        reset_color(index: usize);
        decaln();
        text_area_size_pixels();
        text_area_size_chars();
        set_hyperlink(link: Option<Hyperlink>);
    }
}
