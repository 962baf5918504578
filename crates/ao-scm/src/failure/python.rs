//! Python: pytest's reports, unittest's, and tracebacks.

use super::found::{Entry, Family, Found, Place};
use super::text;
use super::window::View;

pattern!(SECTION, r"^=+ (?:FAILURES|ERRORS) =+$");
pattern!(HEADER, r"^_+ (\S.*?) _+$");
pattern!(RULE, r"^(?:=+ .+ =+|!+ .+ !+|=+)$");
pattern!(LOCATION, r"^((?:[A-Za-z]:)?[^\s:][^:]*?):(\d+):(?: |$)");
pattern!(OUTCOME, r"^(?:\[gw\d+\] \[ *\d+%\] )?(?:FAILED|ERROR) (\S[^:]*?\.\w+)(?:::(.+))?$");
pattern!(PROGRESS, r"^(\S[^:]*?\.py)::(.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$");
pattern!(UNITTEST, r"^(?:ERROR|FAIL): (\S+) \((.+)\)");
pattern!(FRAME, r#"^\s*(?:\| )?File "(.+?)", line (\d+)"#);
pattern!(RAISED, r"^([A-Za-z_][\w.]*)(?:: (.*))?$");

/// The part of pytest's output in which every failure is told at length. Only lines of pytest's own making matter there.
#[derive(Default)]
pub(super) struct Section {
    open: bool,
    test: Option<Told>,
}

#[derive(Default)]
struct Told {
    name: String,
    says: Vec<String>,
    source: Vec<String>,
    place: Option<Place>,
    /// The rest is what the test printed.
    captured: bool,
}

impl Section {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn read(&mut self, view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
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
                    // It was cut off, or is not one.
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
    pub(super) fn read_open(&mut self, line: &str, found: &mut Found) {
        let first = line.as_bytes().first().copied().unwrap_or(b' ');
        if matches!(first, b'=' | b'!') && RULE.is_match(line) {
            self.tell(found);
            self.open = SECTION.is_match(line);
            // The next section of the same kind goes on here; everything else is for others to read.
        } else if first == b'_' && HEADER.is_match(line) && !line.starts_with("_ _") {
            self.tell(found);
            let name = HEADER.captures(line).expect("it matches")[1].to_string();
            let name = ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "]
                .iter()
                .find_map(|start| name.strip_prefix(start))
                .unwrap_or(&name);
            self.test = Some(Told { name: name.to_string(), ..Told::default() });
        } else if let Some(test) = &mut self.test {
            test.read(first, line);
        }
    }

    fn tell(&mut self, found: &mut Found) {
        if let Some(test) = self.test.take() {
            let entry = Entry::test(Family::Pytest, &test.name).says(test.says);
            found.detail(entry.with(test.source).at(test.place));
        }
    }

    pub(super) fn finish(&mut self, found: &mut Found) {
        self.tell(found);
    }
}

impl Told {
    fn read(&mut self, first: u8, line: &str) {
        if self.captured {
            return;
        }
        match first {
            b'-' if line.starts_with("---") && has!(line, " Captured ") => self.captured = true,
            b'E' if line.starts_with("E  ") || line == "E" => {
                if self.says.len() < 12 {
                    self.says.push(line[1..].trim_start().to_string());
                }
            }
            b'>' if self.source.len() < 3 => self.source.push(format!("> {}", line[1..].trim_start())),
            b' ' | b'>' => {}
            _ => {
                if let Some(parts) = LOCATION.captures(line) {
                    let place = Place::new(&parts[1], &parts[2]);
                    // The last place is where it was raised; code of others says little.
                    if self.place.is_none() || !text::is_foreign(&place.path) {
                        self.place = Some(place);
                    }
                }
            }
        }
    }
}

/// `FAILED tests/test_x.py::TestX::test_y[a - b] - AssertionError: …`
fn outcome(parts: &regex::Captures<'_>, found: &mut Found) {
    let path = &parts[1];
    let rest = parts.get(2).map(|rest| rest.as_str().trim_end());
    let (path, after_path) = match rest {
        Some(_) => (path, None),
        None => path.split_once(" - ").map_or((path, None), |(path, said)| (path, Some(said))),
    };
    let (name, said) = match rest {
        Some(rest) => {
            // A parameter may have anything in it.
            let from =
                rest.find('[').and_then(|open| rest[open..].rfind("] - ").map(|close| open + close + 1));
            match from.or_else(|| if rest.ends_with(']') { None } else { rest.find(" - ") }) {
                Some(end) => (&rest[..end], rest[end..].strip_prefix(" - ")),
                None => (rest, None),
            }
        }
        None => (path, after_path),
    };
    let entry =
        Entry::test(Family::Pytest, name).scope(path).at(Some(Place { path: path.to_string(), line: None }));
    // The summary is cut to the width of the terminal, so it only counts where nothing else was said.
    if let Some(said) = said {
        let said = said.trim_end_matches("...").to_string();
        found.summary(Entry::test(Family::Pytest, name).scope(path).says(vec![said]));
    }
    found.certain(entry);
}

fn unittest(view: &View<'_>, line: &str, found: &mut Found) -> Option<usize> {
    let parts = UNITTEST.captures(line)?;
    let rule = view.after().take(3).find(|(line, _)| line.starts_with("-----"))?.1;
    let (test, inside) = (&parts[1], &parts[2]);
    let name = if inside.ends_with(test) { inside.to_string() } else { format!("{inside}.{test}") };
    let begins = view.lines_from(rule).next().filter(|(line, _)| line.starts_with("Traceback"));
    let (told, next) = match begins {
        Some((_, at)) => traceback(view, at).ok()?,
        None => (Entry::error(Family::Python, ""), rule),
    };
    let mut lines = told.lines;
    if let Some(raised) = told.name
        && let Some(first) = lines.first_mut()
        && *first != raised
    {
        *first = format!("{raised}: {first}");
    }
    let entry = Entry { lines, head: told.head, ..Entry::test(Family::Unittest, &name) };
    found.certain(entry.at(told.place));
    Some(next)
}

/// A traceback whose frames begin at `at`. Of several that led to one another, the last one is told.
/// Returns where it ends also if it says nothing.
fn traceback(view: &View<'_>, at: usize) -> Result<(Entry, usize), usize> {
    let (mut entry, mut end) = one_traceback(view, at)?;
    while let Some(again) = chained(view, end) {
        (entry, end) = one_traceback(view, again)?;
    }
    Ok((entry, end))
}

fn one_traceback(view: &View<'_>, at: usize) -> Result<(Entry, usize), usize> {
    let mut end = at;
    let mut place: Option<Place> = None;
    let mut source: Option<String> = None;
    let mut take_source = false;
    let mut lines = view.lines_from(at);
    let mut raised = None;
    for (line, next) in lines.by_ref().take(1000) {
        let begin = std::mem::replace(&mut end, next);
        let inner = line.trim_start_matches(['|', ' ', '+']);
        if let Some(parts) = FRAME.captures(&line) {
            let frame = Place::new(&parts[1], &parts[2]);
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
            // What is no end of a traceback may be the beginning of something else.
            end = begin;
            break;
        }
    }
    let (raised, next) = raised.ok_or(end)?;
    let parts = RAISED.captures(&raised).ok_or(end)?;
    let (more, end) = view.until(next, 6, |line| {
        line.trim().is_empty() || line.starts_with("Traceback") || line.starts_with("===")
    });
    let mut message: Vec<String> = vec![parts.get(2).map_or("", |said| said.as_str()).to_string()];
    message.retain(|line| !line.is_empty());
    if message.is_empty() && more.is_empty() {
        message.push(parts[1].to_string());
    }
    message.extend(more);
    let entry = Entry::error(Family::Python, "").name(Some(&parts[1])).says(message).at(place).with(source);
    Ok((entry, end))
}

/// Where the frames of the next one begin, if this one was only its cause.
fn chained(view: &View<'_>, at: usize) -> Option<usize> {
    let mut lines = view.lines_from(at).filter(|(line, _)| !line.trim().is_empty());
    let (line, _) = lines.next()?;
    if !has!(line, "the direct cause of the following") && !has!(line, "another exception occurred") {
        return None;
    }
    let (line, next) = lines.next()?;
    line.trim_start().starts_with("Traceback").then_some(next)
}
