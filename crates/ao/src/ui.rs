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

/// Says what went wrong.
pub(crate) fn error(error: impl fmt::Display) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{error}");
}
