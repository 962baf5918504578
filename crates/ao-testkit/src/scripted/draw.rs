//! Draws the screen.
//!
//! ```text
//!  scripted agent · CONVERSATION
//!  » the user's text
//!  ● the agent's text
//!  ✻ working… (3s · esc to interrupt)        only while a turn runs
//!  ╭──────────
//!  │ > the draft                             or a dialog
//!  ╰──────────
//!    status
//! ```

use super::app::{ScreenMode, ScriptedApp};

const SPINNER: [char; 4] = ['✻', '✽', '✶', '✢'];
/// The most lines of a draft that are shown, the last ones.
const DRAFT_LINES: usize = 8;
const TAB: &str = "    ";

/// Returns the lines of a frame, and the position of the cursor.
pub(super) fn frame(app: &ScriptedApp, columns: usize, rows: usize) -> (Vec<String>, (usize, usize)) {
    if let ScreenMode::Unknown = app.mode {
        let line = "░▒▓ ".repeat(columns / 4);
        return (vec![line; rows - 1], (0, 0));
    }
    let rule = "─".repeat(columns - 2);
    let mut below = Vec::new();
    if let Some(running) = app.working_for() {
        let spinner = SPINNER[app.frame % SPINNER.len()];
        below.push(format!("{spinner} working… ({}s · esc to interrupt)", running.as_secs()));
    }
    below.push(format!("╭{rule}"));
    let mut column = 4;
    match &app.mode {
        ScreenMode::Dialog(dialog) => below.extend(dialog.lines()),
        _ => {
            let lines = wrap(&app.draft.shown(), columns - 5);
            let first = lines.len().saturating_sub(DRAFT_LINES);
            for (row, line) in lines[first..].iter().enumerate() {
                let mark = if row == 0 { '>' } else { ' ' };
                below.push(format!("│ {mark} {line}"));
                column = 4 + width(line);
            }
        }
    }
    let cursor_up = below.len();
    below.push(format!("╰{rule}"));
    below.push(match &app.mode {
        ScreenMode::Dialog(_) => "  Enter to confirm · Esc to cancel".to_owned(),
        _ => format!("  {} turns", app.turns),
    });

    let mut lines = vec![format!("scripted agent · {}", app.conversation)];
    let room = rows.saturating_sub(below.len() + 1);
    let shown: Vec<String> = app.log.iter().flat_map(|line| wrap(line, columns - 1)).collect();
    lines.extend_from_slice(&shown[shown.len().saturating_sub(room)..]);
    lines.resize(1 + room, String::new());
    lines.append(&mut below);
    lines.truncate(rows);
    ((lines), ((1 + room + cursor_up - 1).min(rows - 1), column.min(columns - 1)))
}

/// Wraps a text into lines that fit.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.replace('\t', TAB).split('\n') {
        let mut part = String::new();
        let mut filled = 0;
        for c in line.chars().filter(|c| !c.is_control()) {
            if filled + wide(c) > columns {
                lines.push(std::mem::take(&mut part));
                filled = 0;
            }
            part.push(c);
            filled += wide(c);
        }
        lines.push(part);
    }
    lines
}

fn width(line: &str) -> usize {
    line.chars().map(wide).sum()
}

/// Returns the width of a character, rounded up: a line that is too short does no harm.
fn wide(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_to_fit() {
        assert_eq!(wrap("abcdef\ngh\n", 4), ["abcd", "ef", "gh", ""]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
    }
}
