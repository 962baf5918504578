//! The attributes that characters are written with, and the sequences that change them.

use std::fmt::Write;

use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, NamedColor};

/// The current attributes of the terminal.
#[derive(Default)]
pub(super) struct Pen(Cell);

/// Attributes that a single number switches on.
const SWITCHES: [(Flags, &str); 11] = [
    (Flags::BOLD, ";1"),
    (Flags::DIM, ";2"),
    (Flags::ITALIC, ";3"),
    (Flags::UNDERLINE, ";4"),
    (Flags::DOUBLE_UNDERLINE, ";4:2"),
    (Flags::UNDERCURL, ";4:3"),
    (Flags::DOTTED_UNDERLINE, ";4:4"),
    (Flags::DASHED_UNDERLINE, ";4:5"),
    (Flags::INVERSE, ";7"),
    (Flags::HIDDEN, ";8"),
    (Flags::STRIKEOUT, ";9"),
];

impl Pen {
    /// Writes the sequence that changes the attributes to those of a cell.
    pub(super) fn to(&mut self, cell: &Cell, text: &mut String) {
        let shown = |cell: &Cell| {
            let layout = Flags::WRAPLINE
                | Flags::WIDE_CHAR
                | Flags::WIDE_CHAR_SPACER
                | Flags::LEADING_WIDE_CHAR_SPACER;
            (cell.fg, cell.bg, cell.flags.difference(layout), cell.underline_color())
        };
        if shown(&self.0) != shown(cell) {
            let (fg, bg, flags, underline) = shown(cell);
            text.push_str("\x1b[0");
            for (_, number) in SWITCHES.iter().filter(|(flag, _)| flags.intersects(*flag)) {
                text.push_str(number);
            }
            color(fg, 30, text);
            color(bg, 40, text);
            if let Some(underline) = underline {
                color(underline, 50, text);
            }
            text.push('m');
        }
        let link = cell.hyperlink();
        if self.0.hyperlink() != link {
            match &link {
                Some(link) => {
                    let _ = write!(text, "\x1b]8;id={};{}\x1b\\", link.id(), link.uri());
                }
                None => text.push_str("\x1b]8;;\x1b\\"),
            }
        }
        self.0 = cell.clone();
    }
}

/// Writes a colour. `base` is 30 for the foreground, 40 for the background, 50 for the underline.
fn color(color: Color, base: u16, text: &mut String) {
    let _ = match color {
        Color::Named(NamedColor::Foreground | NamedColor::Background) => Ok(()),
        Color::Named(name) if (name as u16) < 8 && base < 50 => write!(text, ";{}", base + name as u16),
        Color::Named(name) if (name as u16) < 16 && base < 50 => write!(text, ";{}", base + 52 + name as u16),
        Color::Named(name) => write!(text, ";{};5;{}", base + 8, name as u16 % 256),
        Color::Indexed(index) => write!(text, ";{};5;{index}", base + 8),
        Color::Spec(rgb) => write!(text, ";{};2;{};{};{}", base + 8, rgb.r, rgb.g, rgb.b),
    };
}
