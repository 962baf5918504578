//! Go: `go test`, plain and with `-json`, and its panics.

use ao_ports::FailureKind;
use memchr::memmem;
use serde_json::Value;

use super::collector::FailureCollector;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::formats::{LINES, LogMatch, LogReader};
use super::window::LineView;
use super::{Pattern, text};

static SAID: Pattern = pattern!(r"^\s+(\S+\.go):(\d+): ?(.*)$");
static BUILD: Pattern = pattern!(r"^(?:vet: )?(\.{0,2}/?[^\s:]+\.go):(\d+):\d+: (.+)$");
static RUNNING: Pattern = pattern!(r"^\t(Test\S+) \([^)]*\)$");

const PRINTED: usize = 40;
const WAITING: usize = 1000;
const LOOKS: u32 = 400;

#[derive(Default)]
pub(super) struct GoTests {
    /// Failed tests whose package is named later.
    waiting: Vec<FailureEntry>,
    /// Number of searches for output before the line of a failure. Bounded, because each search reads much of the
    /// window again.
    looked: u32,
}

impl GoTests {
    /// Adds the tests for which no package was named.
    pub(super) fn finish(&mut self, found: &mut FailureCollector) {
        self.waiting.drain(..).for_each(|entry| found.certain(entry));
    }

    fn may_look(&mut self) -> bool {
        self.looked += 1;
        self.looked <= LOOKS
    }

    /// Reads an event of `go test -json`. The output of a test comes in events before the one of its failure.
    pub(super) fn event(&mut self, event: &Value, view: &LineView<'_>, found: &mut FailureCollector) {
        let text = |name: &str| event[name].as_str();
        let package = text("Package").or(text("ImportPath")).unwrap_or_default();
        match (text("Action"), text("Test")) {
            (Some("fail"), Some(test)) => {
                let before = if self.may_look() { view.raw_before() } else { b"" };
                let lines = printed_in_events(before, test, package);
                let mut entry = output(FailureEntry::test(FailureFamily::Go, test).scope(package), &lines);
                if let Some(at) = lines.iter().position(|line| line.starts_with("panic: ")) {
                    entry = entry.message(vec![lines[at].clone()]).at(own_frame(&lines[at..]));
                }
                found.certain(entry);
            }
            (Some("fail"), None) => found.name_step(1, &format!("test {package}")),
            (Some("output" | "build-output"), _) => {
                let line = text::clean(text("Output").unwrap_or_default().as_bytes());
                if let Some(parts) = BUILD.captures(&line) {
                    let place = SourceLocation::new(&parts[1], &parts[2]);
                    found.certain(FailureEntry::error(&parts[3]).at(Some(place)));
                }
            }
            _ => {}
        }
    }
}

/// Assigns the failed tests since the last package to this one.
pub(super) fn package(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (package, why) = (line.text("name"), line.part("message"));
    if why.is_none() && !line.line.contains('\t') {
        return None;
    }
    let waiting = std::mem::take(&mut reader.go.waiting);
    if let Some(why) = why.filter(|why| waiting.is_empty() && *why != "build failed") {
        reader.found.likely(FailureEntry::error(why).name(Some(package)));
    }
    reader.found.name_step(1, &format!("test {package}"));
    waiting.into_iter().for_each(|entry| reader.found.certain(entry.scope(package)));
    Some(line.view.next)
}

pub(super) fn fail(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (view, name, indent) = (&line.view, line.text("name"), text::indent(line.line));
    let ends = |line: &str| text::indent(line) <= indent || is_event(line);
    let (lines, mut next) = view.until(view.next, PRINTED, ends);
    let mut entry = output(FailureEntry::test(FailureFamily::Go, name), &lines);
    if let Some((line, _)) = view.lines_from(next).next()
        && line.starts_with("panic: ")
    {
        let (panic, end) = read_panic(&view.line_at(next), &line);
        entry = entry.message(panic.lines).at(panic.place);
        next = end;
    }
    if entry.lines.is_empty() && reader.go.may_look() {
        entry = output(entry, &printed_before(view, name));
    }
    reader.go.waiting.push(entry);
    if reader.go.waiting.len() > WAITING {
        // There is no package line for so many, so report them without a package.
        reader.go.finish(&mut reader.found);
    }
    Some(next)
}

pub(super) fn panic(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (entry, next) = read_panic(&line.view, line.line);
    match entry.kind {
        FailureKind::Test => reader.go.waiting.push(entry),
        FailureKind::Error => reader.found.likely(entry),
    }
    Some(next)
}

/// Reads a panic, with the first location of its stack outside of Go itself.
fn read_panic(view: &LineView<'_>, line: &str) -> (FailureEntry, usize) {
    let ends = |line: &str| ["FAIL", "ok  \t", "exit status"].iter().any(|start| line.starts_with(start));
    let (lines, next) = view.until(view.next, LINES, ends);
    let timed_out = line.contains("test timed out after");
    let running = lines.iter().filter(|_| timed_out).find_map(|line| RUNNING.captures(line));
    let entry = match running {
        Some(parts) => FailureEntry::test(FailureFamily::Go, &parts[1]),
        None => FailureEntry::error(""),
    };
    let message = line.trim_end_matches(" [recovered]").to_string();
    (entry.message(vec![message]).at(own_frame(&lines)), next)
}

fn own_frame(lines: &[String]) -> Option<SourceLocation> {
    lines.iter().filter(|line| line.starts_with('\t')).find_map(|line| SourceLocation::own(line))
}

/// Returns true if a line is about a test, as opposed to its output.
fn is_event(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("--- ") || line.starts_with("=== ")
}

/// Takes the messages and the last location from the output of a test. The last one is why it ended.
fn output(entry: FailureEntry, lines: &[String]) -> FailureEntry {
    let mut place = None;
    let mut message = Vec::new();
    for line in lines {
        if let Some(parts) = SAID.captures(line) {
            place = Some(SourceLocation::new(&parts[1], &parts[2]));
            message.push(parts[3].to_string());
        } else if place.is_some() && line.starts_with("        ") {
            message.push(format!("  {}", line.trim()));
        }
    }
    message.retain(|line| !line.trim().is_empty());
    entry.message(message).at(place)
}

/// Returns the output of a test with `-v`, which comes between its name and the line of its failure.
fn printed_before(view: &LineView<'_>, name: &str) -> Vec<String> {
    let before = view.raw_before();
    let begin = memmem::rfind(before, format!("=== RUN   {name}").as_bytes()).unwrap_or(before.len());
    let mut mine = false;
    let mut lines = Vec::new();
    for line in before[begin..].split(|byte| *byte == b'\n').map(text::clean) {
        if is_event(&line) {
            mine = line.starts_with("=== ") && line.split_whitespace().nth(2) == Some(name);
        } else if mine && lines.len() < PRINTED {
            lines.push(line.into_owned());
        }
    }
    lines
}

fn printed_in_events(before: &[u8], test: &str, package: &str) -> Vec<String> {
    let needle = format!("\"Test\":{}", Value::from(test));
    let mut lines = Vec::new();
    for at in memmem::find_iter(before, needle.as_bytes()) {
        let start = memchr::memrchr(b'\n', &before[..at]).map_or(0, |start| start + 1);
        let end = memchr::memchr(b'\n', &before[at..]).map_or(before.len(), |end| at + end);
        let Ok(event) = serde_json::from_slice::<Value>(&before[start..end]) else { continue };
        if event["Test"] == test && event["Package"] == package && event["Action"] == "output" {
            lines.push(text::clean(event["Output"].as_str().unwrap_or_default().as_bytes()).into_owned());
        }
        if lines.len() > PRINTED * 4 {
            break;
        }
    }
    lines
}
