//! JavaScript: jest, vitest, mocha, and node's own test runner as it reports to people.

use super::found::{Entry, Family, Found, Place};
use super::text;
use super::window::View;

pattern!(FAIL, r"^\s*FAIL\s+(?:\|[^|]+\|\s+)?(\S.*?)(?: \([\d.]+ ?m?s\))?$");
pattern!(FRAME, r"^\s*(?:at|❯) .*?\(?((?:file://)?(?:[A-Za-z]:)?[^\s():]+):(\d+):\d+\)?$");
pattern!(CODE, r"^\s*(?:>?\s*\d+\s*\||\|)");
pattern!(FAILING, r"^\s+\d+ failing$");
pattern!(NUMBERED, r"^ {1,4}(\d+)\) (.+)$");
pattern!(CROSS, r"^\s*✖ (.+?)(?: \([\d.]+ ?m?s\))?$");
pattern!(TEST_AT, r"^\s*test at (.+?):(\d+):\d+$");

const LINES: usize = 60;

#[derive(Default)]
pub(super) struct State {
    /// The file whose tests are told now.
    file: Option<String>,
}

impl State {
    pub(super) fn read(&mut self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
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

    /// jest names a file, vitest a file and a test.
    fn fail(&mut self, view: &View<'_>, title: &str, found: &mut Found) -> Option<usize> {
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
            let entry = told(Entry::error(Family::Jest, "").scope(file), &lines);
            let place = entry.place.clone().or(Some(Place { path: file.to_string(), line: None }));
            found.certain(entry.at(place));
            return Some(next);
        };
        if !looks_like_file(file) {
            return None;
        }
        let ends = |line: &str| has!(line, "⎯⎯⎯");
        let (lines, next) = view.until(view.next, LINES, ends);
        // Tests with the same error share what is said.
        let shared = lines.iter().take_while(|line| line.trim_start().starts_with("FAIL")).count();
        let also: Vec<&String> = lines[..shared].iter().collect();
        for title in std::iter::once(title)
            .chain(also.iter().filter_map(|line| FAIL.captures(line)?.get(1).map(|m| m.as_str())))
        {
            let (file, name) = title.split_once(" > ").unwrap_or((file, name));
            let entry = told(Entry::test(Family::Jest, name).scope(file), &lines[shared..]);
            let place = entry.place.clone().or(Some(Place { path: file.to_string(), line: None }));
            found.certain(entry.at(place));
        }
        Some(next)
    }

    /// A failing test of jest.
    fn bullet(&mut self, view: &View<'_>, name: &str, found: &mut Found) -> Option<usize> {
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
        let entry = if suite { Entry::error(Family::Jest, "") } else { Entry::test(Family::Jest, name) };
        let entry = told(entry.scope(&file).name(Some(name)), &lines);
        let place = entry.place.clone().or(Some(Place { path: file, line: None }));
        found.certain(entry.at(place));
        Some(next)
    }
}

fn looks_like_file(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    name.contains('.') && !text.contains(": ")
}

/// Takes the message and the place from what is said of a test: text, then perhaps code, then perhaps a stack.
fn told(entry: Entry, lines: &[String]) -> Entry {
    let frame = |line: &String| {
        let parts = FRAME.captures(line)?;
        let place = Place::new(&parts[1], &parts[2]);
        (!text::is_foreign(&place.path)).then_some(place)
    };
    let place = lines.iter().find_map(frame);
    let is_end = |line: &&String| {
        !CODE.is_match(line) && !FRAME.is_match(line) && !line.trim_start().starts_with("at ")
    };
    let says: Vec<String> = lines.iter().take_while(is_end).take(16).cloned().collect();
    let code: Vec<String> = lines.iter().filter(|line| CODE.is_match(line)).take(6).cloned().collect();
    entry.says(says).with(code).at(place)
}

/// The failing tests of mocha: numbered, the title in steps, the last of which ends with a colon.
fn mocha(view: &View<'_>, found: &mut Found) -> Option<usize> {
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
        found.certain(told(Entry::test(Family::Jest, title.trim_end_matches(':')), rest));
        read += 1;
        at = end;
    }
    (read > 0).then_some(at)
}

/// A failing test of node's runner, in the part that tells of all of them.
fn cross(view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
    let name = CROSS.captures(line)?[1].to_string();
    let before = view.before().next()?;
    let parts = TEST_AT.captures(&before)?;
    let place = Place::new(&parts[1], &parts[2]);
    let ends = |line: &str| TEST_AT.is_match(line) || line.trim_start().starts_with('✖');
    let (lines, next) = view.until(view.next, LINES, ends);
    let entry = told(Entry::test(Family::Jest, &name), &lines);
    if entry.lines.iter().all(|line| has!(line, "subtest") && has!(line, "failed") || line.trim().is_empty())
    {
        return Some(next);
    }
    let place = entry.place.clone().unwrap_or(place);
    found.certain(entry.at(Some(place)));
    Some(next)
}
