//! The end of a log as plain text, for people and for agents.

const LINES: usize = 40;
/// Enough for the lines, unless a program writes without end into one.
pub(super) const BYTES: usize = 16 << 10;

/// Returns the last lines of what a terminal would have shown, without colours and other control characters.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = anstream::adapter::strip_str(&text).to_string();
    let lines: Vec<String> = text.lines().map(last_written).collect();
    let lines = &lines[lines.len().saturating_sub(LINES)..];
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Returns the text after the last carriage return: a progress bar rewrites its line, and only the last version is
/// visible.
fn last_written(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit_once('\r').map_or(line, |(_, last)| last);
    line.chars().filter(|c| !c.is_control() || *c == '\t').collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_progress_bars_and_bells_are_left_out() {
        let bytes = b"\x1b[31mred\x1b[0m\x07\n10%\r20%\r100%\r\n\x1b]0;title\x07plain\ttext\xff\n";
        assert_eq!(plain(bytes), "red\n100%\nplain\ttext\u{fffd}");
    }

    #[test]
    fn only_the_last_lines_are_returned() {
        let text: String = (1..=100).map(|line| format!("{line}\n")).collect();
        let told = plain(text.as_bytes());
        assert_eq!(
            (told.lines().next(), told.lines().last(), told.lines().count()),
            (Some("61"), Some("100"), 40)
        );
    }
}
