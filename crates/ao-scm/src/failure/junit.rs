//! JUnit XML, as the whole log or amid other output.
//!
//! Not read as one document, because that may be large, cut off, or mixed with other lines. Each failing test case is read
//! by itself: from its own tag to its end, and not further than the window reaches. References to entities other than
//! the five of XML are left out, so nothing can be blown up.

use memchr::memmem;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::found::{Entry, Family, Found, Place};
use super::text;
use super::window::{AHEAD, BACK};

/// After so many words that matter without a tag of a report, its end has been lost.
const LOST: u32 = 10_000;
/// After so many tags that are in no test case, what looks like a report is none, and is not looked into again.
const STRAY: u32 = 50;
const LINES: usize = 30;

#[derive(Default)]
pub(super) struct State {
    /// Inside of a report, whatever is not a failing test case is what some test printed.
    inside: bool,
    since_tag: u32,
    strays: u32,
}

impl State {
    /// Reads the tag at `hit`. Returns where to go on, or nothing if this is no report.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        hit: usize,
        hit_end: usize,
        found: &mut Found,
    ) -> Option<usize> {
        let tag = |name: &[u8]| hit > 0 && bytes[hit - 1] == b'<' && bytes[hit..].starts_with(name);
        if bytes[hit] == b'<' {
            // `<testsuite`, `<testsuites`, or their ends.
            self.inside = bytes[hit + 1] != b'/' && self.strays < STRAY;
            self.since_tag = 0;
            return Some(hit_end);
        }
        if !self.inside {
            return None;
        }
        self.since_tag += 1;
        if tag(b"failure") || tag(b"error") {
            if let Some((entry, end)) = test_case(bytes, hit) {
                self.since_tag = 0;
                found.certain(entry);
                return Some(end);
            }
            self.strays += 1;
        }
        self.inside = self.since_tag < LOST && self.strays < STRAY;
        Some(hit_end)
    }
}

/// The test case that the tag at `hit` is in, and where it ends.
fn test_case(bytes: &[u8], hit: usize) -> Option<(Entry, usize)> {
    let back = hit.saturating_sub(BACK);
    let start = back + memmem::rfind(&bytes[back..hit], b"<testcase")?;
    if memmem::find(&bytes[start..hit], b"</testcase>").is_some() {
        return None;
    }
    let limit = bytes.len().min(hit + AHEAD);
    const END: &[u8] = b"</testcase>";
    let end = memmem::find(&bytes[hit..limit], END).map_or(limit, |at| hit + at + END.len());
    let fragment = String::from_utf8_lossy(&bytes[start..end]);
    Some((parse(&fragment)?, end))
}

fn parse(fragment: &str) -> Option<Entry> {
    let mut reader = Reader::from_str(fragment);
    reader.config_mut().check_end_names = false;
    let mut case: Option<(Entry, Option<Place>)> = None;
    let mut message = String::new();
    let mut told = String::new();
    let mut inside = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) if tag.name().as_ref() == "testcase" => {
                let name = attribute(&tag, "name").unwrap_or_default();
                let class = attribute(&tag, "classname").unwrap_or_default();
                let line = attribute(&tag, "line").unwrap_or_default();
                let place = attribute(&tag, "file").map(|file| Place::new(&file, &line));
                case = Some((Entry::test(Family::Junit, &name).scope(&class), place));
            }
            Ok(Event::Start(tag)) if is_failure(&tag) => {
                inside = true;
                say(&mut message, &tag);
            }
            Ok(Event::Empty(tag)) if is_failure(&tag) => say(&mut message, &tag),
            Ok(Event::End(tag)) if matches!(tag.name().as_ref(), "failure" | "error") => {
                inside = false;
                told.push('\n');
            }
            Ok(Event::Text(part)) if inside => told.push_str(&part.xml10_content()),
            Ok(Event::CData(part)) if inside => told.push_str(&part.xml10_content()),
            Ok(Event::GeneralRef(reference)) if inside => {
                let named = match &*reference.xml10_content() {
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "amp" => Some('&'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => None,
                };
                told.extend(named.or_else(|| reference.resolve_char_ref().ok().flatten()));
            }
            // Cut off: what was read so far is what there is.
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let (entry, place) = case?;
    let readable = |text: &str| -> Vec<String> {
        text.lines().take(LINES).map(|line| text::clean(line.as_bytes()).into_owned()).collect()
    };
    let place = place.or_else(|| place_in(&told)).or_else(|| place_in(&message));
    let (head, mut rest) = (readable(message.trim()), readable(told.trim()));
    // Many writers repeat the message at the top of the text.
    if head.first().is_some_and(|first| rest.first() == Some(first)) {
        rest.drain(..rest.len().min(head.len()));
    }
    let entry = if head.is_empty() { entry.says(rest) } else { entry.says(head).with(rest) };
    Some(entry.at(place))
}

fn is_failure(tag: &BytesStart<'_>) -> bool {
    matches!(tag.name().as_ref(), "failure" | "error")
}

fn say(message: &mut String, tag: &BytesStart<'_>) {
    let said = attribute(tag, "message").or_else(|| attribute(tag, "type"));
    if let Some(said) = said
        && message.is_empty()
    {
        *message = said;
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute =
        tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name)?;
    // A line break in an attribute is written as a reference and is meant as one.
    let value = attribute.value.replace("&#10;", "\n").replace("&#xA;", "\n").replace("&#13;", "");
    match quick_xml::escape::unescape(&value) {
        Ok(value) => Some(value.into_owned()),
        Err(_) => Some(value),
    }
}

/// The first place in somebody's own code that a trace or a message names.
pub(super) fn place_in(text: &str) -> Option<Place> {
    pattern!(
        PLACE,
        r#"(?:^|[\s('"`])((?:[A-Za-z]:)?[^\s:('"`]+\.[A-Za-z]{1,5}):(\d+)(?::\d+)?(?:[\s):,'"`]|$)"#
    );
    let mut places =
        text.lines().filter(|line| !text::is_foreign(line)).flat_map(|line| PLACE.captures_iter(line));
    places.next().map(|parts| Place::new(&parts[1], &parts[2]))
}
