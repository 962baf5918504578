//! Go: `go test`, plain and with `-json`, its build errors and its panics.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;

use super::found::{Entry, Family, Found, Place};
use super::text;
use super::window::View;

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
pub(super) struct State {
    /// Tests whose package is named later.
    waiting: Vec<Entry>,
    /// How often what a test said was looked for before the line that says that it failed. Bounded, because each time
    /// much is read again.
    looked: u32,
}

impl State {
    pub(super) fn read(&mut self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
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
            let place = Place::new(&parts[1], &parts[2]);
            let (more, next) = view.until(view.next, 4, |line| !line.starts_with('\t'));
            found.certain(Entry::error(Family::Diagnostic, &parts[4]).at(Some(place)).with(more));
            return Some(next);
        }
        None
    }

    fn may_look(&mut self) -> bool {
        self.looked += 1;
        self.looked <= LOOKS
    }

    pub(super) fn finish(&mut self, found: &mut Found) {
        for entry in self.waiting.drain(..) {
            found.certain(entry);
        }
    }

    /// The tests that failed since the last package were of this one.
    fn package(&mut self, package: &str, why: Option<&str>, found: &mut Found) {
        if self.waiting.is_empty() && why.is_some_and(|why| why != "build failed") {
            found.likely(Entry::error(Family::Go, why.unwrap_or_default()).name(Some(package)));
        }
        found.name_step(1, &format!("test {package}"));
        for entry in self.waiting.drain(..) {
            found.certain(entry.scope(package));
        }
    }

    fn fail(&mut self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
        let parts = FAIL.captures(line)?;
        let (indent, name) = (parts[1].len(), &parts[2]);
        let belongs = |line: &str| {
            let own = line.len() - line.trim_start().len();
            own > indent && !line.trim_start().starts_with("--- ") && !line.trim_start().starts_with("=== ")
        };
        let (lines, mut next) = view.until(view.next, LINES, |line| !belongs(line));
        let mut entry = said(Entry::test(Family::Go, name), &lines);
        if let Some((line, at)) = view.lines_from(next).next()
            && line.starts_with("panic: ")
        {
            let (panic, end) = panic(&view.line_at(next), &line);
            entry = entry.says(panic.lines).at(panic.place);
            next = end.max(at);
        }
        if entry.lines.is_empty() && self.may_look() {
            entry = said(entry, &printed_before(view, name));
        }
        self.waiting.push(entry);
        if self.waiting.len() > WAITING {
            // So many have no common end in this log; they are told without a package.
            self.finish(found);
        }
        Some(next)
    }

    /// An event of `go test -json`. What a test said comes in events before the one that says that it failed.
    pub(super) fn event(&mut self, raw: &[u8], view: &View<'_>, found: &mut Found) {
        let Ok(event) = serde_json::from_slice::<Event<'_>>(raw) else { return };
        let package = event.package.as_deref().or(event.import.as_deref()).unwrap_or_default();
        match (&*event.action, &event.test) {
            ("fail", Some(test)) => {
                let needle = serde_json::to_string(&**test).unwrap_or_default();
                let before = if self.may_look() { view.raw_before() } else { b"" };
                let lines = printed_in_events(before, &needle, test, package);
                let mut entry = said(Entry::test(Family::Go, test).scope(package), &lines);
                if let Some(at) = lines.iter().position(|line| line.starts_with("panic: ")) {
                    let place = lines[at..].iter().find_map(|line| own_frame(line));
                    entry = entry.says(vec![lines[at].clone()]).at(place);
                }
                found.certain(entry);
            }
            ("fail", None) => found.name_step(1, &format!("test {package}")),
            ("output" | "build-output", _) => {
                let output = event.output.as_deref().unwrap_or_default();
                let line = text::clean(output.as_bytes());
                if let Some(parts) = BUILD.captures(&line) {
                    let place = Place::new(&parts[1], &parts[2]);
                    found.certain(Entry::error(Family::Diagnostic, &parts[4]).at(Some(place)));
                }
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
struct Event<'a> {
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

/// Takes the messages and the last place from what a test said. The last one is why it ended.
fn said(entry: Entry, lines: &[String]) -> Entry {
    let mut place = None;
    let mut says = Vec::new();
    for line in lines {
        if let Some(parts) = SAID.captures(line) {
            place = Some(Place::new(&parts[1], &parts[2]));
            says.push(parts[3].to_string());
        } else if place.is_some() && line.starts_with("        ") {
            says.push(format!("  {}", line.trim()));
        }
    }
    says.retain(|line| !line.trim().is_empty());
    entry.says(says).at(place)
}

/// With `-v`, what a test said comes before the line that says that it failed, after its name.
fn printed_before(view: &View<'_>, name: &str) -> Vec<String> {
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
        let Ok(event) = serde_json::from_slice::<Event<'_>>(&before[start..end]) else { continue };
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

/// A panic, and the first place of its stack that is not of Go itself.
fn panic(view: &View<'_>, line: &str) -> (Entry, usize) {
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
        Some(test) => Entry::test(Family::Go, &test).says(vec![message]),
        None => Entry::error(Family::Go, &message),
    };
    (entry.at(place), next)
}

fn own_frame(line: &str) -> Option<Place> {
    let parts = STACK.captures(line)?;
    let place = Place::new(&parts[1], &parts[2]);
    (!text::is_foreign(&place.path)).then_some(place)
}
