//! What people see. Data goes to stdout, all else to stderr; colours only where a person looks.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

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

/// Writes a text that has its line ends.
pub(crate) fn text(text: impl fmt::Display) -> io::Result<()> {
    // In few pieces: a list may have thousands of lines, and each would be a write of its own.
    let out = anstream::stdout().lock();
    let colours = out.current_choice() != anstream::ColorChoice::Never;
    let text = text.to_string();
    let mut out = io::stdout().lock();
    match colours {
        true => out.write_all(text.as_bytes())?,
        false => out.write_all(anstream::adapter::strip_str(&text).to_string().as_bytes())?,
    }
    out.flush()
}

/// Writes a value as programs read it: JSON on one line.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    // Whoever follows wants each line when it comes.
    out.flush()
}

/// Writes JSON as it came, on one line.
pub(crate) fn raw(json: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(json.trim_ascii_end())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// How wide the window is, if there is one.
pub(crate) fn width() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// Columns and rows of the window, if there is one.
pub(crate) fn size() -> Option<(usize, usize)> {
    // Of stdout alone: what goes to a file is not cut to the width of the window beside it.
    let (columns, rows) = terminal_size::terminal_size_of(io::stdout())?;
    Some((columns.0.into(), rows.0.into()))
}

/// Says something beside the output.
pub(crate) fn note(note: impl fmt::Display) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{HINT}note:{HINT:#} {note}");
}

/// Says what does not work, where the rest does.
pub(crate) fn warning(warning: impl fmt::Display) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{BUSY}warning:{BUSY:#} {warning}");
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
