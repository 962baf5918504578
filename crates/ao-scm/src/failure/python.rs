//! Python: pytest's reports, unittest's, and tracebacks.

use super::Pattern;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::formats::{LogMatch, LogReader};
use super::text;
use super::window::LineView;

static RULE: Pattern = pattern!(r"^(?:=+ .+ =+|!+ .+ !+|=+)$");
static SECTION: Pattern = pattern!(r"^=+ (?:FAILURES|ERRORS) =+$");
static HEADER: Pattern =
    pattern!(r"^_+ (?:ERROR at setup of |ERROR at teardown of |ERROR collecting )?(\S.*?) _+$");
static FRAME: Pattern = pattern!(r#"^\s*(?:\| )?File "(.+?)", line (\d+)"#);
static RAISED: Pattern = pattern!(r"^([A-Za-z_][\w.]*)(?:: (.*))?$");

/// Reads the part of pytest's output with the report of each failure, in which any line may begin one.
pub(super) fn section(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    reader.in_section = true;
    Some(line.view.next)
}

fn header(line: &str) -> Option<&str> {
    HEADER.captures(line).filter(|_| !line.starts_with("_ _")).map(|parts| parts.extract::<1>().1[0])
}

impl LogReader {
    /// Reads a line of that part.
    pub(super) fn read_section(&mut self, view: &LineView<'_>, line: &str) -> usize {
        if RULE.is_match(line) {
            // The next section of the same kind continues here; other rows may know any other rule.
            self.in_section = SECTION.is_match(line);
            return if self.in_section { view.next } else { view.start };
        }
        let Some(name) = header(line) else { return view.next };
        let ends = |line: &str| RULE.is_match(line) || header(line).is_some();
        let (lines, next) = view.until(view.next, usize::MAX, ends);
        let is_captured = |line: &&String| line.starts_with("---") && line.contains(" Captured ");
        let lines = || lines.iter().take_while(|line| !is_captured(line));
        let is_message = |line: &str| line.starts_with("E  ") || line == "E";
        let message =
            lines().filter(|line| is_message(line)).take(12).map(|line| line[1..].trim_start().to_string());
        let source = lines().filter(|line| line.starts_with('>')).take(3);
        let places = lines().filter(|line| !line.starts_with([' ', '>']) && !is_message(line));
        let entry = FailureEntry::test(FailureFamily::Pytest, name)
            .message(message.collect())
            .with(source.map(|line| format!("> {}", line[1..].trim_start())))
            .at(raised_at(places.filter_map(|line| SourceLocation::parse(line)).enumerate())
                .map(|(_, place)| place));
        self.found.detail(entry);
        next
    }
}

/// Returns the last location, which is where it was raised, outside of dependencies if there is one.
fn raised_at(places: impl Iterator<Item = (usize, SourceLocation)>) -> Option<(usize, SourceLocation)> {
    places.reduce(|last, next| if text::is_foreign(&next.1.path) { last } else { next })
}

/// `FAILED tests/test_x.py::TestX::test_y[a - b] - AssertionError: …`
pub(super) fn outcome(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (mut path, rest) = (line.text("path"), line.part("name"));
    let whole = rest.unwrap_or(path);
    // A parameter may contain anything.
    let parameter = whole.find('[').and_then(|open| Some(open + whole[open..].rfind("] - ")? + 1));
    let end = parameter.or_else(|| whole.find(" - ").filter(|_| !whole.ends_with(']')));
    let (name, message) = whole.split_at(end.unwrap_or(whole.len()));
    if rest.is_none() {
        path = name;
    }
    let entry = FailureEntry::test(FailureFamily::Pytest, name).scope(path);
    // The summary is cut to the width of the terminal, so it counts only without other output.
    if let Some(message) = message.strip_prefix(" - ") {
        reader.found.summary(entry.clone().message(vec![message.trim_end_matches("...").to_string()]));
    }
    reader.found.certain(entry.at(Some(SourceLocation::new(path, ""))));
    Some(line.view.next)
}

pub(super) fn unittest(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let (view, test, scope) = (&line.view, line.text("name"), line.text("scope"));
    let rule = view.after().take(3).find(|(line, _)| line.starts_with("-----"))?.1;
    let begins = view.lines_from(rule).next().filter(|(line, _)| line.starts_with("Traceback"));
    let (raised, next) = match begins {
        Some((_, at)) => traceback(view, at).ok()?,
        None => (FailureEntry::error(""), rule),
    };
    let name = if scope.ends_with(test) { scope.to_string() } else { format!("{scope}.{test}") };
    let mut entry = FailureEntry { name: Some(name), family: FailureFamily::Unittest, ..raised };
    entry.kind = ao_ports::FailureKind::Test;
    if let Some(raised) = raised.name
        && let Some(first) = entry.lines.first_mut()
        && *first != raised
    {
        *first = format!("{raised}: {first}");
    }
    reader.found.certain(entry);
    Some(next)
}

/// Reads a traceback outside of any test.
pub(super) fn uncaught(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    match traceback(&line.view, line.view.next) {
        Ok((entry, next)) => {
            reader.found.likely(entry);
            Some(next)
        }
        // Cut off, or no traceback.
        Err(next) => Some(next),
    }
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
    let (frames, end) = view.until(at, usize::MAX, |line| !line.starts_with(' ') && !line.trim().is_empty());
    // A line that does not end a traceback may begin something else.
    let (raised, next) = view.lines_from(end).next().ok_or(end)?;
    let parts = RAISED.captures(&raised).ok_or(end)?;
    let (more, end) = view.until(next, 6, |line| {
        line.trim().is_empty() || line.starts_with("Traceback") || line.starts_with("===")
    });
    let message = parts.get(2).map_or("", |message| message.as_str());
    let message = if message.is_empty() && more.is_empty() { &parts[1] } else { message };
    let place = |line: &String| FRAME.captures(line).map(|parts| SourceLocation::new(&parts[1], &parts[2]));
    let places = frames.iter().enumerate().filter_map(|(at, line)| Some((at, place(line)?)));
    let (source, place) = raised_at(places).unzip();
    let source = source.and_then(|at| frames.get(at + 1)).filter(|line| !FRAME.is_match(line));
    let source = source.map(|line| line.trim_start_matches(['|', ' ', '+'])).filter(|line| !line.is_empty());
    let mut entry = FailureEntry::error(message).name(Some(&parts[1])).at(place).with(more);
    entry.head = entry.lines.len();
    Ok((entry.with(source.map(|line| format!("> {line}"))), end))
}

/// Returns the offset of the next traceback's frames, if this one was only its cause.
fn chained(view: &LineView<'_>, at: usize) -> Option<usize> {
    let mut lines = view.lines_from(at).filter(|(line, _)| !line.trim().is_empty());
    let (line, _) = lines.next()?;
    if !line.contains("the direct cause of the following") && !line.contains("another exception occurred") {
        return None;
    }
    let (line, next) = lines.next()?;
    line.trim_start().starts_with("Traceback").then_some(next)
}
