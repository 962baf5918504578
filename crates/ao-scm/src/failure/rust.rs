//! Rust: the human-readable output of `cargo test`, nextest and rustc.

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::steps::is_consequence;
use super::window::LineView;

pattern!(
    RUNNING,
    r"^\s*(?:Running \S+(?: \S+)* \((?:.*[/\\])?(.+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)|Doc-tests (\S+))$"
);
pattern!(FAILED, r"^\s*test (\S.*?)(?: - should panic)? \.\.\. FAILED");
pattern!(OUTPUT, r"^\s*---- (.+?) stdout ----$");
pattern!(PANIC, r"thread '(.*?)'(?: \(\d+\))? panicked at (.*)$");
pattern!(PANIC_AT, r"^(.+?):(\d+):\d+:?$");
pattern!(PANIC_OLD, r"^'(.*)', (.+?):(\d+):\d+$");
pattern!(
    NEXTEST,
    r"^\s*(?:TRY \d+ )?(FAIL|TIMEOUT|ABORT|SIG[A-Z]+|XFAIL|LEAK-FAIL|TMT|FLAKY \d+/\d+|FLKY-FL \d+/\d+) +\[ *[>\d.]+s *\] (?:\( *\d+/\d+\) )?(\S+) (\S.*)$"
);
pattern!(NEXTEST_ANY, r"^\s*(?:TRY \d+ )?[A-Z][A-Z0-9/ -]* \[ *[>\d.]+s *\] ");
pattern!(ERROR, r"^error(?:\[([A-Za-z0-9_:]+)\])?: (.+)$");
pattern!(ARROW, r"^\s*(?:-->|:::) (.+?):(\d+):\d+$");

/// The most lines of a test's output that are read.
const LINES: usize = 400;

#[derive(Default)]
pub(super) struct RustReader {
    /// The current test binary, by its name without the hash.
    pub binary: String,
}

impl RustReader {
    pub(super) fn read(
        &mut self,
        view: &LineView<'_>,
        line: &str,
        found: &mut FailureCollector,
    ) -> Option<usize> {
        let trimmed = line.trim_start();
        if trimmed.starts_with("Running ") || trimmed.starts_with("Doc-tests ") {
            let parts = RUNNING.captures(line)?;
            self.binary = parts.get(1).or(parts.get(2))?.as_str().to_string();
            return Some(view.next);
        }
        if trimmed.starts_with("error") {
            return error(view, trimmed, found);
        }
        if has!(line, "panicked at ") {
            return self.panic(view, line, found);
        }
        if trimmed.starts_with("test ") {
            let name = &FAILED.captures(line)?[1];
            found.certain(FailureEntry::test(FailureFamily::Rust, name).scope(&self.binary));
            return Some(view.next);
        }
        if trimmed.starts_with("---- ") {
            return self.output(view, line, found);
        }
        if trimmed == "failures:" {
            return self.list(view, line, found);
        }
        if has!(line, "s] ") {
            return nextest(view, line, found);
        }
        None
    }

    /// Reads the output of a test, in the part after all tests ran.
    fn output(&self, view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
        let name = OUTPUT.captures(line)?[1].to_string();
        let ends = |line: &str| {
            let line = line.trim_start();
            line == "failures:" || line == "successes:" || line.starts_with("---- ") && OUTPUT.is_match(line)
        };
        let (lines, next) = view.until(view.next, LINES, ends);
        found.detail(with_output(FailureEntry::test(FailureFamily::Rust, &name).scope(&self.binary), &lines));
        Some(next)
    }

    /// Reads the indented list of failed tests at the end.
    fn list(&self, view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
        let indent = line.len() - line.trim_start().len() + 4;
        let (names, next) = view.until(view.next, usize::MAX, |line| {
            line.len() <= indent || !line.is_char_boundary(indent) || !line[..indent].trim().is_empty()
        });
        for name in &names {
            found.certain(FailureEntry::test(FailureFamily::Rust, name.trim()).scope(&self.binary));
        }
        Some(next)
    }

    /// Reads a panic that was printed when it happened. Its thread has the name of the test, whose result is reported
    /// elsewhere.
    fn panic(&self, view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
        let parts = PANIC.captures(line)?;
        let thread = parts[1].to_string();
        let (lines, next) = view.until(view.next, LINES, ends_message);
        let all: Vec<String> = std::iter::once(line.to_string()).chain(lines).collect();
        let is_test = thread.contains("::");
        let entry = if is_test {
            FailureEntry::test(FailureFamily::Rust, &thread)
        } else {
            FailureEntry::error(FailureFamily::Rust, "")
        };
        let entry = with_output(entry.scope(&self.binary).name(Some(&thread)), &all);
        found.detail(entry);
        Some(next)
    }
}

fn ends_message(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line == "stack backtrace:" || line.starts_with("note: run with `RUST_BACKTRACE")
}

/// Reads a test as nextest prints it: a status line, and the indented output of the test below.
fn nextest(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    let parts = NEXTEST.captures(line)?;
    let status = &parts[1];
    let entry = FailureEntry::test(FailureFamily::Rust, &parts[3]).scope(&parts[2]);
    if status.starts_with("FL") {
        found.passed(&entry);
        return Some(view.next);
    }
    let ends = |line: &str| {
        line.starts_with("────") || line.starts_with("error: test run failed") || NEXTEST_ANY.is_match(line)
    };
    let (lines, next) = view.until(view.next, LINES, ends);
    let lines: Vec<String> =
        lines.iter().map(|line| line.strip_prefix("    ").unwrap_or(line).to_string()).collect();
    let mut entry = with_output(entry, &lines);
    if entry.lines.is_empty() && status != "FAIL" {
        let why = if matches!(status, "TIMEOUT" | "TMT") { "timed out" } else { status };
        entry = entry.message(vec![why.to_string()]);
    }
    found.certain(entry);
    Some(next)
}

/// Takes a message and a location from the output of a test.
pub(super) fn with_output(entry: FailureEntry, printed: &[String]) -> FailureEntry {
    let panic = printed.iter().position(|line| has!(line, "panicked at ") && PANIC.is_match(line));
    if let Some(at) = panic {
        let (message, place) = panic_message(printed, at);
        let before = printed[..at].iter().filter(|line| !is_harness(line)).rev().take(5);
        let before: Vec<String> = before.filter(|line| !line.trim().is_empty()).cloned().collect();
        return entry.message(message).at(place).with(before.into_iter().rev());
    }
    let starts = ["Error: ", "note: test did not panic", "test did not panic"];
    let message = printed.iter().position(|line| starts.iter().any(|start| line.starts_with(start)));
    let mut lines: Vec<String> = match message {
        Some(at) => printed[at..].iter().take_while(|line| !line.trim().is_empty()).cloned().collect(),
        None => {
            let rest: Vec<&String> = printed.iter().filter(|line| !is_harness(line)).collect();
            rest[rest.len().saturating_sub(12)..].iter().map(|line| line.to_string()).collect()
        }
    };
    lines.truncate(12);
    let mut place = None;
    for line in &mut lines {
        // Keep the location apart from the message, so that the signature does not depend on it.
        if let Some((message, at)) = line.split_once(" as expected at ")
            && let Some(parts) = PANIC_AT.captures(at)
        {
            place = Some(SourceLocation::new(&parts[1], &parts[2]));
            *line = format!("{} as expected", message.trim_start_matches("note: "));
        }
    }
    entry.message(lines).at(place)
}

fn panic_message(printed: &[String], at: usize) -> (Vec<String>, Option<SourceLocation>) {
    let parts = PANIC.captures(&printed[at]).expect("the caller has looked");
    let rest = parts[2].trim();
    if let Some(old) = PANIC_OLD.captures(rest) {
        return (vec![old[1].to_string()], Some(SourceLocation::new(&old[2], &old[3])));
    }
    let place = PANIC_AT.captures(rest).map(|parts| SourceLocation::new(&parts[1], &parts[2]));
    let message = printed[at + 1..].iter().take_while(|line| !ends_message(line)).take(12).cloned().collect();
    (message, place)
}

/// Returns true for lines of the test harness, of nextest and of backtraces.
fn is_harness(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("running ")
        || line.starts_with("test ") && has!(line, " ... ")
        || line.starts_with("test result:")
        || line == "failures:"
        || line.starts_with("stdout ──")
        || line.starts_with("stderr ──")
        || line.starts_with("---- ")
        || !line.contains(' ') && has!(line, "::")
}

/// Reads an error of the compiler: a message, and the location below it.
fn error(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    let parts = ERROR.captures(line)?;
    let message = &parts[2];
    let arrow = view.after().take(2).find_map(|(line, _)| {
        let parts = ARROW.captures(&line)?;
        Some(SourceLocation::new(&parts[1], &parts[2]))
    });
    if arrow.is_none() && parts.get(1).is_none() {
        // Only a hint without a location, except that rustc prints no location for a failed link.
        if !message.starts_with("linking with ") {
            return None;
        }
    }
    if is_consequence(message) && arrow.is_none() {
        return None;
    }
    let (lines, next) = view.until(view.next, 14, |line| line.trim().is_empty() || ERROR.is_match(line));
    let shown = lines.into_iter().filter(|line| !ARROW.is_match(line) && line.trim() != "|");
    let code = parts.get(1).map(|code| code.as_str());
    found.certain(FailureEntry::error(FailureFamily::Diagnostic, message).name(code).at(arrow).with(shown));
    Some(next)
}
