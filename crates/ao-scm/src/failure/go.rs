//! Go: `go test`, plain and with `-json`, its build errors and its panics.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::text;
use super::window::LineView;

pattern!(FAIL, r"^(\s*)--- FAIL: (\S+) \([\d.]+m?s\)$");
pattern!(PACKAGE, r"^FAIL\s+(\S+)(?: \[(.+)\]|\s+[\d.]+m?s)?$");
pattern!(SAID, r"^\s+(\S+\.go):(\d+): ?(.*)$");
pattern!(BUILD, r"^(?:vet: )?(\.{0,2}/?[^\s:]+\.go):(\d+):(\d+): (.+)$");
pattern!(STACK, r"^\t(\S.*\.go):(\d+)(?: \+0x[0-9a-f]+)?$");
pattern!(RUNNING, r"^\t(Test\S+) \([^)]*\)$");

const LINES: usize = 40;
const WAITING: usize = 1000;
const LOOKS: u32 = 400;

#[derive(Default)]
pub(super) struct GoReader {
    /// Failed tests whose package is named later.
    waiting: Vec<FailureEntry>,
    /// Number of searches for output before the line of a failure. Bounded, because each search reads much of the
    /// window again.
    looked: u32,
}

impl GoReader {
    pub(super) fn read(
        &mut self,
        view: &LineView<'_>,
        line: &str,
        found: &mut FailureCollector,
    ) -> Option<usize> {
        let trimmed = line.trim_start();
        if trimmed.starts_with("--- FAIL: ") {
            return self.fail(view, line, found);
        }
        if line.starts_with("FAIL") && !line.starts_with("FAILED") {
            let parts = PACKAGE.captures(line)?;
            if parts.get(2).is_none() && !line.contains('\t') {
                return None;
            }
            self.package(&parts[1], parts.get(2).map(|why| why.as_str()), found);
            return Some(view.next);
        }
        if line.starts_with("panic: ") || line.starts_with("fatal error: ") {
            let (entry, next) = panic(view, line);
            match entry.kind {
                ao_ports::FailureKind::Test => self.waiting.push(entry),
                ao_ports::FailureKind::Error => found.likely(entry),
            }
            return Some(next);
        }
        if has!(line, ".go:") {
            let parts = BUILD.captures(line)?;
            let place = SourceLocation::new(&parts[1], &parts[2]);
            let (more, next) = view.until(view.next, 4, |line| !line.starts_with('\t'));
            found.certain(
                FailureEntry::error(FailureFamily::Diagnostic, &parts[4]).at(Some(place)).with(more),
            );
            return Some(next);
        }
        None
    }

    fn may_look(&mut self) -> bool {
        self.looked += 1;
        self.looked <= LOOKS
    }

    pub(super) fn finish(&mut self, found: &mut FailureCollector) {
        for entry in self.waiting.drain(..) {
            found.certain(entry);
        }
    }

    /// Assigns the failed tests since the last package to this one.
    fn package(&mut self, package: &str, why: Option<&str>, found: &mut FailureCollector) {
        if self.waiting.is_empty() && why.is_some_and(|why| why != "build failed") {
            found.likely(FailureEntry::error(FailureFamily::Go, why.unwrap_or_default()).name(Some(package)));
        }
        found.name_step(1, &format!("test {package}"));
        for entry in self.waiting.drain(..) {
            found.certain(entry.scope(package));
        }
    }

    fn fail(&mut self, view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
        let parts = FAIL.captures(line)?;
        let (indent, name) = (parts[1].len(), &parts[2]);
        let belongs = |line: &str| {
            let own = line.len() - line.trim_start().len();
            own > indent && !line.trim_start().starts_with("--- ") && !line.trim_start().starts_with("=== ")
        };
        let (lines, mut next) = view.until(view.next, LINES, |line| !belongs(line));
        let mut entry = with_output(FailureEntry::test(FailureFamily::Go, name), &lines);
        if let Some((line, at)) = view.lines_from(next).next()
            && line.starts_with("panic: ")
        {
            let (panic, end) = panic(&view.line_at(next), &line);
            entry = entry.message(panic.lines).at(panic.place);
            next = end.max(at);
        }
        if entry.lines.is_empty() && self.may_look() {
            entry = with_output(entry, &printed_before(view, name));
        }
        self.waiting.push(entry);
        if self.waiting.len() > WAITING {
            // There is no package line for so many, so report them without a package.
            self.finish(found);
        }
        Some(next)
    }

    /// Reads an event of `go test -json`. The output of a test comes in events before the one of its failure.
    pub(super) fn event(&mut self, raw: &[u8], view: &LineView<'_>, found: &mut FailureCollector) {
        let Ok(event) = serde_json::from_slice::<GoEvent<'_>>(raw) else { return };
        let package = event.package.as_deref().or(event.import.as_deref()).unwrap_or_default();
        match (&*event.action, &event.test) {
            ("fail", Some(test)) => {
                let needle = serde_json::to_string(&**test).unwrap_or_default();
                let before = if self.may_look() { view.raw_before() } else { b"" };
                let lines = printed_in_events(before, &needle, test, package);
                let mut entry =
                    with_output(FailureEntry::test(FailureFamily::Go, test).scope(package), &lines);
                if let Some(at) = lines.iter().position(|line| line.starts_with("panic: ")) {
                    let place = lines[at..].iter().find_map(|line| own_frame(line));
                    entry = entry.message(vec![lines[at].clone()]).at(place);
                }
                found.certain(entry);
            }
            ("fail", None) => found.name_step(1, &format!("test {package}")),
            ("output" | "build-output", _) => {
                let output = event.output.as_deref().unwrap_or_default();
                let line = text::clean(output.as_bytes());
                if let Some(parts) = BUILD.captures(&line) {
                    let place = SourceLocation::new(&parts[1], &parts[2]);
                    found.certain(FailureEntry::error(FailureFamily::Diagnostic, &parts[4]).at(Some(place)));
                }
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
struct GoEvent<'a> {
    #[serde(borrow, rename = "Action")]
    action: Cow<'a, str>,
    #[serde(borrow, rename = "Package")]
    package: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "ImportPath")]
    import: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "Test")]
    test: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "Output")]
    output: Option<Cow<'a, str>>,
}

/// Takes the messages and the last location from the output of a test. The last one is why it ended.
fn with_output(entry: FailureEntry, lines: &[String]) -> FailureEntry {
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
    let Some(begin) = memmem::rfind(before, format!("=== RUN   {name}").as_bytes()) else {
        return Vec::new();
    };
    let mut mine = false;
    let mut lines = Vec::new();
    for raw in before[begin..].split(|byte| *byte == b'\n') {
        if raw.starts_with(b"=== ") {
            let line = text::clean(raw);
            mine = line.split_whitespace().nth(2) == Some(name);
        } else if raw.trim_ascii_start().starts_with(b"--- ") {
            mine = false;
        } else if mine && lines.len() < LINES {
            lines.push(text::clean(raw).into_owned());
        }
    }
    lines
}

fn printed_in_events(before: &[u8], needle: &str, test: &str, package: &str) -> Vec<String> {
    let needle = format!("\"Test\":{needle}");
    let mut lines = Vec::new();
    for at in memmem::find_iter(before, needle.as_bytes()) {
        let start = memchr::memrchr(b'\n', &before[..at]).map_or(0, |start| start + 1);
        let end = memchr::memchr(b'\n', &before[at..]).map_or(before.len(), |end| at + end);
        let Ok(event) = serde_json::from_slice::<GoEvent<'_>>(&before[start..end]) else { continue };
        let mine = event.test.as_deref() == Some(test) && event.package.as_deref() == Some(package);
        if mine && event.action == "output" {
            lines.push(text::clean(event.output.unwrap_or_default().as_bytes()).into_owned());
        }
        if lines.len() > LINES * 4 {
            break;
        }
    }
    lines
}

/// Reads a panic, with the first location of its stack outside of Go itself.
fn panic(view: &LineView<'_>, line: &str) -> (FailureEntry, usize) {
    let ends = |line: &str| {
        line.starts_with("FAIL") || line.starts_with("ok  \t") || line.starts_with("exit status")
    };
    let (lines, next) = view.until(view.next, 400, ends);
    let place = lines.iter().find_map(|line| own_frame(line));
    let message = line.trim_end_matches(" [recovered]").to_string();
    let timed_out = has!(line, "test timed out after");
    let running =
        lines.iter().filter(|_| timed_out).find_map(|line| Some(RUNNING.captures(line)?[1].to_string()));
    let entry = match running {
        Some(test) => FailureEntry::test(FailureFamily::Go, &test).message(vec![message]),
        None => FailureEntry::error(FailureFamily::Go, &message),
    };
    (entry.at(place), next)
}

fn own_frame(line: &str) -> Option<SourceLocation> {
    let parts = STACK.captures(line)?;
    let place = SourceLocation::new(&parts[1], &parts[2]);
    (!text::is_foreign(&place.path)).then_some(place)
}
