//! JavaScript: the output of tests, mocha, the spec reporter of node's own test runner, and eslint.

use super::Pattern;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::formats::{LogMatch, LogReader};

static CODE: Pattern = pattern!(r"^\s*(?:>?\s*\d+\s*\||\|)");
static FRAME: Pattern = pattern!(r"^\s*(?:at|❯) ");
static NUMBERED: Pattern = pattern!(r"^ {1,4}\d+\) (.+)$");
static LISTED: Pattern = pattern!(r"^ +\d+:\d+\s");
static STYLISH: Pattern = pattern!(r"^\s+(\d+):\d+\s+error\s+(.+?)(?:\s{2,}(\S+))?$");

const PRINTED: usize = 60;

/// Takes the message and the location from the output of a test: text, then perhaps code, then perhaps a stack.
pub(super) fn output(entry: FailureEntry, lines: &[String]) -> FailureEntry {
    let lines = &lines[..lines.len().min(PRINTED)];
    let message = lines.iter().take_while(|line| !CODE.is_match(line) && !FRAME.is_match(line));
    let code = lines.iter().filter(|line| CODE.is_match(line)).take(6).cloned();
    let place = lines.iter().filter(|line| FRAME.is_match(line)).find_map(|line| SourceLocation::own(line));
    entry.message(message.take(16).cloned().collect()).with(code).at(place)
}

/// Reads the failing tests of mocha: numbered, with titles over several lines, the last of which ends with a colon.
pub(super) fn mocha(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let view = &line.view;
    let blank = view.after().take(5).take_while(|(line, _)| line.is_empty());
    let begin = blank.last().map_or(view.next, |(_, next)| next);
    let mut at = begin;
    while let Some((line, next)) = view.lines_from(at).next() {
        let Some(parts) = NUMBERED.captures(&line) else { break };
        let (lines, end) = view.until(next, PRINTED, |line| NUMBERED.is_match(line));
        let lines: Vec<String> =
            lines.iter().map(|line| line.strip_prefix("     ").unwrap_or(line).to_string()).collect();
        let mut title = parts[1].trim().to_string();
        let mut rest = &lines[..];
        while !title.ends_with(':')
            && lines.len() - rest.len() < 7
            && let Some((first, others)) = rest.split_first()
        {
            title = format!("{title} {}", first.trim());
            rest = others;
        }
        reader
            .found
            .certain(output(FailureEntry::test(FailureFamily::Jest, title.trim_end_matches(':')), rest));
        at = end;
    }
    (at > begin).then_some(at)
}

/// Reads a failing test of node's runner, in the final list of failures. Its location is above it.
pub(super) fn node(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let above = line.view.before().next().filter(|line| line.trim_start().starts_with("test at "))?;
    let place = SourceLocation::parse(&above)?;
    let ends = |line: &str| ["test at ", "✖"].iter().any(|start| line.trim_start().starts_with(start));
    let (lines, next) = line.view.until(line.view.next, PRINTED, ends);
    let mut entry = output(FailureEntry::test(FailureFamily::Jest, line.text("name")), &lines);
    let is_consequence =
        |line: &String| line.trim().is_empty() || line.contains("subtest") && line.contains("failed");
    if !entry.lines.iter().all(is_consequence) {
        entry.place = entry.place.or(Some(place));
        reader.found.certain(entry);
    }
    Some(next)
}

/// Reads the errors that eslint lists below the name of a file.
pub(super) fn stylish(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (lines, next) = line.view.until(line.view.start, usize::MAX, |line| !LISTED.is_match(line));
    let file = line.view.before().take(200).find(|line| !line.starts_with(' ')).unwrap_or_default();
    if file.is_empty() {
        return Some(next);
    }
    for parts in lines.iter().filter_map(|line| STYLISH.captures(line)) {
        let rule = parts.get(3).map(|rule| rule.as_str());
        let place = SourceLocation::new(&file, &parts[1]);
        reader.found.certain(FailureEntry::error(parts[2].trim()).name(rule).at(Some(place)));
    }
    Some(next)
}
