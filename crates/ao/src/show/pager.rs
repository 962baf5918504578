//! Long texts, a screen at a time.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::ui;

/// Shows a text: through the pager, if a person looks and it is longer than the window.
pub(crate) fn show(text: &str, wanted: bool) -> io::Result<()> {
    let rows = ui::size().map(|(_, rows)| rows);
    let is_long = rows.is_some_and(|rows| text.lines().count() + 1 > rows);
    if wanted && is_long && io::stdout().is_terminal() && paged(text) {
        return Ok(());
    }
    ui::text(text)
}

/// Whether the pager has shown it.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if pager.trim().is_empty() || pager.trim() == "cat" {
        return false;
    }
    let coloured = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let text = if coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
    // Through a shell, because the variable may have options in it.
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Colours are passed on, and what fits the screen is left standing.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Whoever leaves the pager before the end has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    // 127 is a shell's word for a program that it has not found.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
