//! JavaScript: jest, vitest, mocha, and the spec reporter of node's own test runner.

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::text;
use super::window::LineView;

pattern!(FAIL, r"^\s*FAIL\s+(?:\|[^|]+\|\s+)?(\S.*?)(?: \([\d.]+ ?m?s\))?$");
pattern!(FRAME, r"^\s*(?:at|❯) .*?\(?((?:file://)?(?:[A-Za-z]:)?[^\s():]+):(\d+):\d+\)?$");
pattern!(CODE, r"^\s*(?:>?\s*\d+\s*\||\|)");
pattern!(FAILING, r"^\s+\d+ failing$");
pattern!(NUMBERED, r"^ {1,4}(\d+)\) (.+)$");
pattern!(CROSS, r"^\s*✖ (.+?)(?: \([\d.]+ ?m?s\))?$");
pattern!(TEST_AT, r"^\s*test at (.+?):(\d+):\d+$");

const LINES: usize = 60;

#[derive(Default)]
pub(super) struct JavaScriptReader {
    /// The file of the tests that are read now.
    file: Option<String>,
}

impl JavaScriptReader {
    pub(super) fn read(
        &mut self,
        view: &LineView<'_>,
        line: &str,
        found: &mut FailureCollector,
    ) -> Option<usize> {
        let trimmed = line.trim_start();
        if trimmed.starts_with("FAIL") {
            let title = FAIL.captures(line)?.get(1)?.as_str().to_string();
            return self.fail(view, &title, found);
        }
        if let Some(name) = trimmed.strip_prefix("● ") {
            return self.bullet(view, name, found);
        }
        if trimmed.starts_with('✖') {
            return cross(view, line, found);
        }
        if line.ends_with(" failing") && FAILING.is_match(line) {
            return mocha(view, found);
        }
        None
    }

    /// Reads a `FAIL` line: jest names a file, vitest a file and a test.
    fn fail(&mut self, view: &LineView<'_>, title: &str, found: &mut FailureCollector) -> Option<usize> {
        let Some((file, name)) = title.split_once(" > ") else {
            let (file, suite) = match title.split_once(" [ ") {
                Some((file, _)) => (file, true),
                None => (title, false),
            };
            if !looks_like_file(file) {
                return None;
            }
            self.file = Some(file.to_string());
            if !suite {
                return Some(view.next);
            }
            let (lines, next) = view.until(view.next, LINES, |line| has!(line, "⎯⎯⎯"));
            let entry = with_output(FailureEntry::error(FailureFamily::Jest, "").scope(file), &lines);
            let place = entry.place.clone().or(Some(SourceLocation { path: file.to_string(), line: None }));
            found.certain(entry.at(place));
            return Some(next);
        };
        if !looks_like_file(file) {
            return None;
        }
        let ends = |line: &str| has!(line, "⎯⎯⎯");
        let (lines, next) = view.until(view.next, LINES, ends);
        // Tests with the same error share the output.
        let shared = lines.iter().take_while(|line| line.trim_start().starts_with("FAIL")).count();
        let also: Vec<&String> = lines[..shared].iter().collect();
        for title in std::iter::once(title)
            .chain(also.iter().filter_map(|line| FAIL.captures(line)?.get(1).map(|m| m.as_str())))
        {
            let (file, name) = title.split_once(" > ").unwrap_or((file, name));
            let entry =
                with_output(FailureEntry::test(FailureFamily::Jest, name).scope(file), &lines[shared..]);
            let place = entry.place.clone().or(Some(SourceLocation { path: file.to_string(), line: None }));
            found.certain(entry.at(place));
        }
        Some(next)
    }

    /// Reads a failing test of jest.
    fn bullet(&mut self, view: &LineView<'_>, name: &str, found: &mut FailureCollector) -> Option<usize> {
        let file = self.file.clone()?;
        if name == "Console" || name.ends_with("Warning:") {
            return None;
        }
        let ends = |line: &str| {
            line.trim_start().starts_with("● ")
                || line.trim_start().starts_with("FAIL ")
                || line.trim_start().starts_with("PASS ")
                || line.starts_with("Test Suites:")
                || line.starts_with("Summary of all failing")
        };
        let (lines, next) = view.until(view.next, LINES, ends);
        let lines: Vec<String> =
            lines.iter().map(|line| line.strip_prefix("    ").unwrap_or(line).to_string()).collect();
        let suite = name == "Test suite failed to run";
        let entry = if suite {
            FailureEntry::error(FailureFamily::Jest, "")
        } else {
            FailureEntry::test(FailureFamily::Jest, name)
        };
        let entry = with_output(entry.scope(&file).name(Some(name)), &lines);
        let place = entry.place.clone().or(Some(SourceLocation { path: file, line: None }));
        found.certain(entry.at(place));
        Some(next)
    }
}

fn looks_like_file(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    name.contains('.') && !text.contains(": ")
}

/// Takes the message and the location from the output of a test: text, then perhaps code, then perhaps a stack.
fn with_output(entry: FailureEntry, lines: &[String]) -> FailureEntry {
    let frame = |line: &String| {
        let parts = FRAME.captures(line)?;
        let place = SourceLocation::new(&parts[1], &parts[2]);
        (!text::is_foreign(&place.path)).then_some(place)
    };
    let place = lines.iter().find_map(frame);
    let is_end = |line: &&String| {
        !CODE.is_match(line) && !FRAME.is_match(line) && !line.trim_start().starts_with("at ")
    };
    let message: Vec<String> = lines.iter().take_while(is_end).take(16).cloned().collect();
    let code: Vec<String> = lines.iter().filter(|line| CODE.is_match(line)).take(6).cloned().collect();
    entry.message(message).with(code).at(place)
}

/// Reads the failing tests of mocha: numbered, with titles over several lines, the last of which ends with a colon.
fn mocha(view: &LineView<'_>, found: &mut FailureCollector) -> Option<usize> {
    let blank = view.after().take(5).take_while(|(line, _)| line.is_empty());
    let mut at = blank.last().map_or(view.next, |(_, next)| next);
    let mut read = 0;
    while let Some((line, next)) = view.lines_from(at).next() {
        let Some(parts) = NUMBERED.captures(&line) else { break };
        let (lines, end) = view.until(next, LINES, |line| NUMBERED.is_match(line));
        let lines: Vec<String> =
            lines.iter().map(|line| line.strip_prefix("     ").unwrap_or(line).to_string()).collect();
        let mut title = vec![parts[2].trim().to_string()];
        let mut rest = &lines[..];
        while !title.last().is_some_and(|part| part.ends_with(':')) && title.len() < 8 {
            let Some((first, others)) = rest.split_first() else { break };
            title.push(first.trim().to_string());
            rest = others;
        }
        let title = title.join(" ");
        found
            .certain(with_output(FailureEntry::test(FailureFamily::Jest, title.trim_end_matches(':')), rest));
        read += 1;
        at = end;
    }
    (read > 0).then_some(at)
}

/// Reads a failing test of node's runner, in the final list of failures.
fn cross(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    let name = CROSS.captures(line)?[1].to_string();
    let before = view.before().next()?;
    let parts = TEST_AT.captures(&before)?;
    let place = SourceLocation::new(&parts[1], &parts[2]);
    let ends = |line: &str| TEST_AT.is_match(line) || line.trim_start().starts_with('✖');
    let (lines, next) = view.until(view.next, LINES, ends);
    let entry = with_output(FailureEntry::test(FailureFamily::Jest, &name), &lines);
    if entry.lines.iter().all(|line| has!(line, "subtest") && has!(line, "failed") || line.trim().is_empty())
    {
        return Some(next);
    }
    let place = entry.place.clone().unwrap_or(place);
    found.certain(entry.at(Some(place)));
    Some(next)
}
