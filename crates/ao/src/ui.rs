//! Terminal output. Data goes to stdout, everything else to stderr; colours only on a terminal.

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

/// Writes a text that has its own line ends.
pub(crate) fn text(text: impl fmt::Display) -> io::Result<()> {
    // In one write: a list may have thousands of lines.
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

/// Writes a value for programs: JSON on one line.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    // Flush, so that a reader gets each line at once.
    out.flush()
}

/// Writes JSON unchanged, on one line.
pub(crate) fn raw(json: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(json.trim_ascii_end())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Returns the width of the window, if there is one.
pub(crate) fn width() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// Returns columns and rows of the window, if there is one.
pub(crate) fn size() -> Option<(usize, usize)> {
    // Only of stdout: output to a file is not cut to the width of a window.
    let (columns, rows) = terminal_size::terminal_size_of(io::stdout())?;
    Some((columns.0.into(), rows.0.into()))
}

/// Prints a note to stderr.
pub(crate) fn note(note: impl fmt::Display) {
    // Without stderr there is no place to report to.
    let _ = writeln!(anstream::stderr().lock(), "{HINT}note:{HINT:#} {note}");
}

/// Prints a warning to stderr.
pub(crate) fn warning(warning: impl fmt::Display) {
    // Without stderr there is no place to report to.
    let _ = writeln!(anstream::stderr().lock(), "{BUSY}warning:{BUSY:#} {warning}");
}

/// Prints a problem to stderr.
pub(crate) fn problem(problem: impl fmt::Display) {
    // Without stderr there is no place to report to.
    let _ = writeln!(anstream::stderr().lock(), "{ERROR}problem:{ERROR:#} {problem}");
}

/// Formats a count: `1 event`, `2 events`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Prints an error to stderr.
pub(crate) fn error(error: impl fmt::Display) {
    // Without stderr there is no place to report to.
    let _ = writeln!(anstream::stderr().lock(), "{error}");
}
