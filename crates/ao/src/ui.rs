//! What people see. Data goes to stdout, all else to stderr; colours only where a person looks.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const TITLE: Style = Style::new().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BUSY: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Writes a line of output.
pub(crate) fn line(line: impl fmt::Display) -> io::Result<()> {
    writeln!(anstream::stdout().lock(), "{line}")
}

/// Says something beside the output.
pub(crate) fn note(note: impl fmt::Display) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{HINT}note:{HINT:#} {note}");
}

/// A number of things, in words: `1 event`, `2 events`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Says what went wrong.
pub(crate) fn error(error: impl fmt::Display) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{error}");
}
