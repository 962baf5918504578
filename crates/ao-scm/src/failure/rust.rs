//! Rust: what `cargo test`, nextest and rustc print for people.

use super::found::{Entry, Family, Found, Place};
use super::steps::is_consequence;
use super::window::View;

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

/// A block of a test that printed more is cut.
const LINES: usize = 400;

#[derive(Default)]
pub(super) struct State {
    /// The test binary that runs now, by its name without the part that changes.
    pub binary: String,
}

impl State {
    pub(super) fn read(&mut self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
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
            found.certain(Entry::test(Family::Rust, name).scope(&self.binary));
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

    /// What a test printed, in the part after all tests ran.
    fn output(&self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
        let name = OUTPUT.captures(line)?[1].to_string();
        let ends = |line: &str| {
            let line = line.trim_start();
            line == "failures:" || line == "successes:" || line.starts_with("---- ") && OUTPUT.is_match(line)
        };
        let (lines, next) = view.until(view.next, LINES, ends);
        found.detail(told(Entry::test(Family::Rust, &name).scope(&self.binary), &lines));
        Some(next)
    }

    /// The names of all that failed, indented, at the end.
    fn list(&self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
        let indent = line.len() - line.trim_start().len() + 4;
        let (names, next) = view.until(view.next, usize::MAX, |line| {
            line.len() <= indent || !line.is_char_boundary(indent) || !line[..indent].trim().is_empty()
        });
        for name in &names {
            found.certain(Entry::test(Family::Rust, name.trim()).scope(&self.binary));
        }
        Some(next)
    }

    /// A panic that was printed when it happened. Its thread has the name of the test; whether that failed, others know.
    fn panic(&self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
        let parts = PANIC.captures(line)?;
        let thread = parts[1].to_string();
        let (lines, next) = view.until(view.next, LINES, ends_message);
        let all: Vec<String> = std::iter::once(line.to_string()).chain(lines).collect();
        let is_test = thread.contains("::");
        let entry = if is_test { Entry::test(Family::Rust, &thread) } else { Entry::error(Family::Rust, "") };
        let entry = told(entry.scope(&self.binary).name(Some(&thread)), &all);
        found.detail(entry);
        Some(next)
    }
}

fn ends_message(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line == "stack backtrace:" || line.starts_with("note: run with `RUST_BACKTRACE")
}

/// A test as nextest tells it: a status line, and what the test printed below, indented.
fn nextest(view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
    let parts = NEXTEST.captures(line)?;
    let status = &parts[1];
    let entry = Entry::test(Family::Rust, &parts[3]).scope(&parts[2]);
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
    let mut entry = told(entry, &lines);
    if entry.lines.is_empty() && status != "FAIL" {
        let why = if matches!(status, "TIMEOUT" | "TMT") { "timed out" } else { status };
        entry = entry.says(vec![why.to_string()]);
    }
    found.certain(entry);
    Some(next)
}

/// Takes a message and a place from what a test printed.
pub(super) fn told(entry: Entry, printed: &[String]) -> Entry {
    let panic = printed.iter().position(|line| has!(line, "panicked at ") && PANIC.is_match(line));
    if let Some(at) = panic {
        let (said, place) = panic_message(printed, at);
        let before = printed[..at].iter().filter(|line| !is_harness(line)).rev().take(5);
        let before: Vec<String> = before.filter(|line| !line.trim().is_empty()).cloned().collect();
        return entry.says(said).at(place).with(before.into_iter().rev());
    }
    let starts = ["Error: ", "note: test did not panic", "test did not panic"];
    let said = printed.iter().position(|line| starts.iter().any(|start| line.starts_with(start)));
    let mut lines: Vec<String> = match said {
        Some(at) => printed[at..].iter().take_while(|line| !line.trim().is_empty()).cloned().collect(),
        None => {
            let rest: Vec<&String> = printed.iter().filter(|line| !is_harness(line)).collect();
            rest[rest.len().saturating_sub(12)..].iter().map(|line| line.to_string()).collect()
        }
    };
    lines.truncate(12);
    let mut place = None;
    for line in &mut lines {
        // The place is told apart, so that it does not make another message of the same one.
        if let Some((message, at)) = line.split_once(" as expected at ")
            && let Some(parts) = PANIC_AT.captures(at)
        {
            place = Some(Place::new(&parts[1], &parts[2]));
            *line = format!("{} as expected", message.trim_start_matches("note: "));
        }
    }
    entry.says(lines).at(place)
}

fn panic_message(printed: &[String], at: usize) -> (Vec<String>, Option<Place>) {
    let parts = PANIC.captures(&printed[at]).expect("the caller has looked");
    let rest = parts[2].trim();
    if let Some(old) = PANIC_OLD.captures(rest) {
        return (vec![old[1].to_string()], Some(Place::new(&old[2], &old[3])));
    }
    let place = PANIC_AT.captures(rest).map(|parts| Place::new(&parts[1], &parts[2]));
    let said = printed[at + 1..].iter().take_while(|line| !ends_message(line)).take(12).cloned().collect();
    (said, place)
}

/// Lines of the test harness, of nextest and of backtraces, that say nothing of the test.
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

/// An error of the compiler: a message, and where below it.
fn error(view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
    let parts = ERROR.captures(line)?;
    let message = &parts[2];
    let arrow = view.after().take(2).find_map(|(line, _)| {
        let parts = ARROW.captures(&line)?;
        Some(Place::new(&parts[1], &parts[2]))
    });
    if arrow.is_none() && parts.get(1).is_none() {
        // Somebody's error without a place. It is only a hint, except that a failed link is all that rustc says of it.
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
    found.certain(Entry::error(Family::Diagnostic, message).name(code).at(arrow).with(shown));
    Some(next)
}
