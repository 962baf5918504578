//! Python: pytest's reports, unittest's, and tracebacks.

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::text;
use super::window::LineView;

pattern!(SECTION, r"^=+ (?:FAILURES|ERRORS) =+$");
pattern!(HEADER, r"^_+ (\S.*?) _+$");
pattern!(RULE, r"^(?:=+ .+ =+|!+ .+ !+|=+)$");
pattern!(LOCATION, r"^((?:[A-Za-z]:)?[^\s:][^:]*?):(\d+):(?: |$)");
pattern!(OUTCOME, r"^(?:\[gw\d+\] \[ *\d+%\] )?(?:FAILED|ERROR) (\S[^:]*?\.\w+)(?:::(.+))?$");
pattern!(PROGRESS, r"^(\S[^:]*?\.py)::(.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$");
pattern!(UNITTEST, r"^(?:ERROR|FAIL): (\S+) \((.+)\)");
pattern!(FRAME, r#"^\s*(?:\| )?File "(.+?)", line (\d+)"#);
pattern!(RAISED, r"^([A-Za-z_][\w.]*)(?:: (.*))?$");

/// The part of pytest's output with the report of each failure. Only pytest's own lines matter there.
#[derive(Default)]
pub(super) struct PytestReader {
    open: bool,
    test: Option<PytestFailure>,
}

#[derive(Default)]
struct PytestFailure {
    name: String,
    message: Vec<String>,
    source: Vec<String>,
    place: Option<SourceLocation>,
    /// The rest is captured output of the test.
    captured: bool,
}

impl PytestReader {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn read(
        &mut self,
        view: &LineView<'_>,
        line: &str,
        found: &mut FailureCollector,
    ) -> Option<usize> {
        match line.as_bytes().first()? {
            b'=' => {
                self.open = SECTION.is_match(line);
                self.open.then_some(view.next)
            }
            b'F' | b'E' | b'[' if has!(line, "FAILED ") || has!(line, "ERROR ") => {
                outcome(&OUTCOME.captures(line)?, found);
                Some(view.next)
            }
            b'F' | b'E' if has!(line, ": ") => unittest(view, line, found),
            b'T' | b' ' if line.trim_start().starts_with("Traceback (most recent call last)") => {
                match traceback(view, view.next) {
                    Ok((entry, next)) => {
                        found.likely(entry);
                        Some(next)
                    }
                    // Cut off, or no traceback.
                    Err(next) => Some(next),
                }
            }
            _ if has!(line, ".py::") => {
                outcome(&PROGRESS.captures(line)?, found);
                Some(view.next)
            }
            _ => None,
        }
    }

    /// Reads the next line of an open section, and closes it at its end.
    pub(super) fn read_open(&mut self, line: &str, found: &mut FailureCollector) {
        let first = line.as_bytes().first().copied().unwrap_or(b' ');
        if matches!(first, b'=' | b'!') && RULE.is_match(line) {
            self.report(found);
            self.open = SECTION.is_match(line);
            // The next section of the same kind continues here; other readers take everything else.
        } else if first == b'_' && HEADER.is_match(line) && !line.starts_with("_ _") {
            self.report(found);
            let name = HEADER.captures(line).expect("it matches")[1].to_string();
            let name = ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "]
                .iter()
                .find_map(|start| name.strip_prefix(start))
                .unwrap_or(&name);
            self.test = Some(PytestFailure { name: name.to_string(), ..PytestFailure::default() });
        } else if let Some(test) = &mut self.test {
            test.read(first, line);
        }
    }

    fn report(&mut self, found: &mut FailureCollector) {
        if let Some(test) = self.test.take() {
            let entry = FailureEntry::test(FailureFamily::Pytest, &test.name).message(test.message);
            found.detail(entry.with(test.source).at(test.place));
        }
    }

    pub(super) fn finish(&mut self, found: &mut FailureCollector) {
        self.report(found);
    }
}

impl PytestFailure {
    fn read(&mut self, first: u8, line: &str) {
        if self.captured {
            return;
        }
        match first {
            b'-' if line.starts_with("---") && has!(line, " Captured ") => self.captured = true,
            b'E' if line.starts_with("E  ") || line == "E" => {
                if self.message.len() < 12 {
                    self.message.push(line[1..].trim_start().to_string());
                }
            }
            b'>' if self.source.len() < 3 => self.source.push(format!("> {}", line[1..].trim_start())),
            b' ' | b'>' => {}
            _ => {
                if let Some(parts) = LOCATION.captures(line) {
                    let place = SourceLocation::new(&parts[1], &parts[2]);
                    // The last location is where it was raised; skip code of dependencies.
                    if self.place.is_none() || !text::is_foreign(&place.path) {
                        self.place = Some(place);
                    }
                }
            }
        }
    }
}

/// `FAILED tests/test_x.py::TestX::test_y[a - b] - AssertionError: …`
fn outcome(parts: &regex::Captures<'_>, found: &mut FailureCollector) {
    let path = &parts[1];
    let rest = parts.get(2).map(|rest| rest.as_str().trim_end());
    let (path, after_path) = match rest {
        Some(_) => (path, None),
        None => path.split_once(" - ").map_or((path, None), |(path, message)| (path, Some(message))),
    };
    let (name, message) = match rest {
        Some(rest) => {
            // A parameter may contain anything.
            let from =
                rest.find('[').and_then(|open| rest[open..].rfind("] - ").map(|close| open + close + 1));
            match from.or_else(|| if rest.ends_with(']') { None } else { rest.find(" - ") }) {
                Some(end) => (&rest[..end], rest[end..].strip_prefix(" - ")),
                None => (rest, None),
            }
        }
        None => (path, after_path),
    };
    let entry = FailureEntry::test(FailureFamily::Pytest, name)
        .scope(path)
        .at(Some(SourceLocation { path: path.to_string(), line: None }));
    // The summary is cut to the width of the terminal, so it counts only without other output.
    if let Some(message) = message {
        let message = message.trim_end_matches("...").to_string();
        found.summary(FailureEntry::test(FailureFamily::Pytest, name).scope(path).message(vec![message]));
    }
    found.certain(entry);
}

fn unittest(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    let parts = UNITTEST.captures(line)?;
    let rule = view.after().take(3).find(|(line, _)| line.starts_with("-----"))?.1;
    let (test, inside) = (&parts[1], &parts[2]);
    let name = if inside.ends_with(test) { inside.to_string() } else { format!("{inside}.{test}") };
    let begins = view.lines_from(rule).next().filter(|(line, _)| line.starts_with("Traceback"));
    let (traceback, next) = match begins {
        Some((_, at)) => traceback(view, at).ok()?,
        None => (FailureEntry::error(FailureFamily::Python, ""), rule),
    };
    let mut lines = traceback.lines;
    if let Some(raised) = traceback.name
        && let Some(first) = lines.first_mut()
        && *first != raised
    {
        *first = format!("{raised}: {first}");
    }
    let entry =
        FailureEntry { lines, head: traceback.head, ..FailureEntry::test(FailureFamily::Unittest, &name) };
    found.certain(entry.at(traceback.place));
    Some(next)
}

/// Reads a traceback whose frames begin at `at`. Of several that caused one another, returns the last one. An error
/// is the offset of its end.
fn traceback(view: &LineView<'_>, at: usize) -> Result<(FailureEntry, usize), usize> {
    let (mut entry, mut end) = one_traceback(view, at)?;
    while let Some(again) = chained(view, end) {
        (entry, end) = one_traceback(view, again)?;
    }
    Ok((entry, end))
}

fn one_traceback(view: &LineView<'_>, at: usize) -> Result<(FailureEntry, usize), usize> {
    let mut end = at;
    let mut place: Option<SourceLocation> = None;
    let mut source: Option<String> = None;
    let mut take_source = false;
    let mut lines = view.lines_from(at);
    let mut raised = None;
    for (line, next) in lines.by_ref().take(1000) {
        let begin = std::mem::replace(&mut end, next);
        let inner = line.trim_start_matches(['|', ' ', '+']);
        if let Some(parts) = FRAME.captures(&line) {
            let frame = SourceLocation::new(&parts[1], &parts[2]);
            take_source = place.is_none() || !text::is_foreign(&frame.path);
            if take_source {
                place = Some(frame);
            }
        } else if line.starts_with(' ') || line.trim().is_empty() {
            if take_source && !inner.is_empty() {
                source = Some(format!("> {inner}"));
                take_source = false;
            }
        } else {
            raised = Some((line.into_owned(), next));
            // A line that does not end a traceback may begin something else.
            end = begin;
            break;
        }
    }
    let (raised, next) = raised.ok_or(end)?;
    let parts = RAISED.captures(&raised).ok_or(end)?;
    let (more, end) = view.until(next, 6, |line| {
        line.trim().is_empty() || line.starts_with("Traceback") || line.starts_with("===")
    });
    let mut message: Vec<String> = vec![parts.get(2).map_or("", |message| message.as_str()).to_string()];
    message.retain(|line| !line.is_empty());
    if message.is_empty() && more.is_empty() {
        message.push(parts[1].to_string());
    }
    message.extend(more);
    let entry = FailureEntry::error(FailureFamily::Python, "")
        .name(Some(&parts[1]))
        .message(message)
        .at(place)
        .with(source);
    Ok((entry, end))
}

/// Returns the offset of the next traceback's frames, if this one was only its cause.
fn chained(view: &LineView<'_>, at: usize) -> Option<usize> {
    let mut lines = view.lines_from(at).filter(|(line, _)| !line.trim().is_empty());
    let (line, _) = lines.next()?;
    if !has!(line, "the direct cause of the following") && !has!(line, "another exception occurred") {
        return None;
    }
    let (line, next) = lines.next()?;
    line.trim_start().starts_with("Traceback").then_some(next)
}
