//! Shows long texts through a pager.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::ui;

/// Prints a text, through the pager if it goes to a terminal and is longer than the window.
pub(crate) fn show(text: &str, wanted: bool) -> io::Result<()> {
    let rows = ui::size().map(|(_, rows)| rows);
    let is_long = rows.is_some_and(|rows| text.lines().count() + 1 > rows);
    if wanted && is_long && io::stdout().is_terminal() && paged(text) {
        return Ok(());
    }
    ui::text(text)
}

/// Returns true if the pager has shown the text.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if pager.trim().is_empty() || pager.trim() == "cat" {
        return false;
    }
    let coloured = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let text = if coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
    // Through a shell, because the variable may contain options.
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Passes colours through, exits if the text fits, and leaves it on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A user who quits the pager early has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    // A shell exits with 127 if it does not find the program.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
