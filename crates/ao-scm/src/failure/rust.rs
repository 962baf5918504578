//! Rust: tests of cargo and nextest, panics, and errors of rustc.

use super::Pattern;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::formats::{LINES, LogMatch, LogReader};
use super::text;

static PANIC: Pattern = pattern!(r"thread '.*?'(?: \(\d+\))? panicked at (.*)$");
static PANIC_OLD: Pattern = pattern!(r"^'(.*)', (.+)$");
static ENDS_MESSAGE: Pattern = pattern!(r"^\s*(?:$|stack backtrace:$|note: run with `RUST_BACKTRACE)");
static ERROR: Pattern = pattern!(r"^error(?:\[[A-Za-z0-9_:]+\])?: .");
static ARROW: Pattern = pattern!(r"^\s*(?:-->|:::) ");
/// Lines of the test harness, of nextest and of backtraces.
static HARNESS: Pattern = pattern!(
    r"^\s*(?:running |test .* \.\.\. |test result:|failures:$|stdout ──|stderr ──|---- |[^ ]*::[^ ]*$)"
);

/// Reads the indented list of failed tests at the end.
pub(super) fn list(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let indent = text::indent(line.line) + 4;
    let (names, next) = line.view.until(line.view.next, usize::MAX, |line| text::indent(line) < indent);
    for name in &names {
        let entry = FailureEntry::test(FailureFamily::Rust, name.trim());
        reader.found.certain(entry.scope(reader.scope(FailureFamily::Rust)));
    }
    Some(next)
}

/// Reads a panic that was printed when it happened. Its thread has the name of the test, whose result is reported
/// elsewhere.
pub(super) fn panic(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let thread = line.text("name");
    let (lines, next) = line.view.until(line.view.next, LINES, |line| ENDS_MESSAGE.is_match(line));
    let printed: Vec<String> = std::iter::once(line.line.to_string()).chain(lines).collect();
    let mut entry = FailureEntry::test(FailureFamily::Rust, thread);
    if !thread.contains("::") {
        entry.kind = ao_ports::FailureKind::Error;
    }
    reader.found.detail(output(entry.scope(reader.scope(FailureFamily::Rust)), &printed));
    Some(next)
}

/// Reads a test that failed first and passed in the end.
pub(super) fn flaky(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    reader
        .found
        .passed(&FailureEntry::test(FailureFamily::Rust, line.text("name")).scope(line.text("scope")));
    Some(line.view.next)
}

/// Takes a message and a location from the output of a test.
pub(super) fn output(entry: FailureEntry, printed: &[String]) -> FailureEntry {
    let panic = printed.iter().enumerate().find_map(|(at, line)| Some((at, PANIC.captures(line)?)));
    if let Some((at, parts)) = panic {
        let before = printed[..at].iter().filter(|line| !HARNESS.is_match(line)).rev().take(5);
        let before: Vec<String> = before.filter(|line| !line.trim().is_empty()).cloned().collect();
        let rest = parts[1].trim();
        let (message, place) = match PANIC_OLD.captures(rest) {
            Some(old) => (vec![old[1].to_string()], SourceLocation::parse(&old[2])),
            None => {
                let message = printed[at + 1..].iter().take_while(|line| !ENDS_MESSAGE.is_match(line));
                (message.take(12).cloned().collect(), SourceLocation::parse(rest))
            }
        };
        return entry.message(message).at(place).with(before.into_iter().rev());
    }
    let starts = ["Error: ", "note: test did not panic", "test did not panic"];
    let message = printed.iter().position(|line| starts.iter().any(|start| line.starts_with(start)));
    let mut lines: Vec<String> = match message {
        Some(at) => {
            printed[at..].iter().take_while(|line| !line.trim().is_empty()).take(12).cloned().collect()
        }
        None => {
            let rest: Vec<&String> = printed.iter().filter(|line| !HARNESS.is_match(line)).collect();
            rest[rest.len().saturating_sub(12)..].iter().map(|line| line.to_string()).collect()
        }
    };
    let mut place = None;
    for line in &mut lines {
        // Keep the location apart from the message, so that the signature does not depend on it.
        if let Some((message, at)) = line.split_once(" as expected at ")
            && let Some(found) = SourceLocation::parse(at)
        {
            place = Some(found);
            *line = format!("{} as expected", message.trim_start_matches("note: "));
        }
    }
    entry.message(lines).at(place)
}

/// Reads an error of the compiler: a message, and the location below it.
pub(super) fn error(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (code, message) = (line.part("name"), line.text("message"));
    let below = line.view.after().take(2).map(|(line, _)| line);
    let arrow = below.filter(|line| ARROW.is_match(line)).find_map(|line| SourceLocation::parse(&line));
    // Only a hint without a location, except that rustc prints no location for a failed link.
    let is_cause = arrow.is_some() || code.is_some() || message.starts_with("linking with ");
    if !is_cause || text::is_consequence(message) && arrow.is_none() {
        return None;
    }
    let (lines, next) =
        line.view.until(line.view.next, 14, |line| line.trim().is_empty() || ERROR.is_match(line));
    let shown = lines.into_iter().filter(|line| !ARROW.is_match(line) && line.trim() != "|");
    reader.found.certain(FailureEntry::error(message).name(code).at(arrow).with(shown));
    Some(next)
}
