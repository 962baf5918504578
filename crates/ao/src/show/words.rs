//! Formats times, sizes and states for people.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use ao_api::{Session, SessionState, Status, Timestamp};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::diff::steers;
use crate::ui;

/// Formats an age: `40s`, `3m`, `5h`, `2d`.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    span(u64::try_from(now.as_second() - at.as_second()).unwrap_or(0))
}

/// Formats a duration by its largest unit, which is enough to tell minutes from hours.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Formats a number of bytes: `812 B`, `1.4 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64 / 1000.0;
    let mut unit = 0;
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1000.0;
        unit += 1;
    }
    let digits = if amount < 9.95 { 1 } else { 0 };
    format!("{amount:.digits$} {}", UNITS[unit])
}

/// Returns true if a session in this state has ended.
pub fn is_over(state: SessionState) -> bool {
    matches!(state, SessionState::Stopped | SessionState::Merged)
}

/// Returns the colour of a state.
pub(super) fn style(state: SessionState) -> Style {
    use SessionState::*;
    match state {
        NeedsInput | Capped => ui::BUSY,
        Blocked | SetupFailed | Exited | Unknown => ui::ERROR,
        Working | Merged => ui::GOOD,
        Starting | SettingUp | Retrying | Stopping => AnsiColor::Green.on_default(),
        Idle => ui::HINT,
        Queued | RateLimited | Paused => AnsiColor::Yellow.on_default(),
        Stopped => ui::FAINT,
    }
}

/// Describes a state: `working (quiet 20m)`.
pub(super) fn state(status: &Status) -> String {
    match status.quiet_seconds {
        Some(quiet) if quiet >= 60 => format!("{} (quiet {})", status.state, span(quiet)),
        _ => status.state.to_string(),
    }
}

/// Renders a value of the API in words: `changes requested`.
pub(crate) fn spaced(value: impl Display) -> String {
    value.to_string().replace('_', " ")
}

/// Describes the task: `Fix login (issue 42)`.
pub(super) fn task(session: &Session) -> String {
    match &session.issue {
        Some(issue) if session.title.is_empty() => format!("issue {issue}"),
        Some(issue) => format!("{} (issue {issue})", session.title),
        None => session.title.clone(),
    }
}

/// Returns a text as one line without control characters, since agents and strangers may have written it.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(word.chars().filter(|c| !steers(*c)));
    }
    plain
}

/// Like [`plain`], with the leading spaces kept.
pub(super) fn plain_line(text: &str) -> String {
    let begin = text.len() - text.trim_start_matches(' ').len();
    format!("{}{}", &text[..begin], plain(text))
}

/// Shortens a commit to as much as people compare.
pub(super) fn short_commit(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Shortens a text to a number of columns, with `…` at the cut.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut short = String::new();
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        short.push(c);
    }
    short.truncate(short.trim_end().len());
    if columns > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_by_their_largest_unit() {
        let told = [0, 59, 60, 3599, 3600, 86_399, 86_400, 1_000_000].map(span);
        assert_eq!(told, ["0s", "59s", "1m", "59m", "1h", "23h", "1d", "11d"]);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_negative() {
        let at: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(age(at, "2026-01-02T03:00:00Z".parse().unwrap()), "0s");
    }

    #[test]
    fn sizes_have_two_digits_or_more() {
        let told = [0, 999, 1000, 1449, 9_949, 9_950, 12_345, 999_499, 999_500, 4_200_000_000].map(size);
        let right =
            ["0 B", "999 B", "1.0 kB", "1.4 kB", "9.9 kB", "10 kB", "12 kB", "999 kB", "1.0 MB", "4.2 GB"];
        assert_eq!(told, right);
    }

    #[test]
    fn a_text_is_cut_by_columns_and_not_by_bytes() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("too long", 5), "too…");
        assert_eq!(shorten("漢字漢字", 5), "漢字…");
        assert_eq!(shorten("anything", 0), "");
    }

    #[test]
    fn what_strangers_wrote_cannot_steer_the_terminal() {
        assert_eq!(plain("a\x1b[31m\r\nb\u{7}\u{9b}2J"), "a[31m b2J");
    }
}
