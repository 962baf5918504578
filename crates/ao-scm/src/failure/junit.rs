//! JUnit XML, as the whole log or amid other output.
//!
//! Not parsed as one document, because that may be large, cut off, or mixed with other lines. Each failing test case
//! is parsed separately: from its own tag to its end, and not beyond the window. References to entities other than
//! the five of XML are dropped, so that no entity can expand.

use std::ops::Range;

use memchr::memmem;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::collector::FailureCollector;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::text;
use super::window::{AHEAD, BACK};

/// Number of hits without a tag of a report after which its end counts as lost.
const LOST: u32 = 10_000;
/// Number of tags outside of test cases after which the log counts as no report.
const STRAY: u32 = 50;
const LINES: usize = 30;

#[derive(Default)]
pub(super) struct JunitReader {
    /// Inside of a report, everything but a failing test case is output of a test.
    inside: bool,
    since_tag: u32,
    strays: u32,
}

impl JunitReader {
    /// Reads the tag at `hit`. Returns the offset to continue at, or `None` if this is no report.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        hit: Range<usize>,
        found: &mut FailureCollector,
    ) -> Option<usize> {
        let Range { start: hit, end: hit_end } = hit;
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

/// Parses the test case around the tag at `hit`, and returns its end.
fn test_case(bytes: &[u8], hit: usize) -> Option<(FailureEntry, usize)> {
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

fn parse(fragment: &str) -> Option<FailureEntry> {
    let mut reader = Reader::from_str(fragment);
    reader.config_mut().check_end_names = false;
    let mut case: Option<(FailureEntry, Option<SourceLocation>)> = None;
    let mut message = String::new();
    let mut text = String::new();
    let mut inside = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) if tag.name().as_ref() == "testcase" => {
                let name = attribute(&tag, "name").unwrap_or_default();
                let class = attribute(&tag, "classname").unwrap_or_default();
                let line = attribute(&tag, "line").unwrap_or_default();
                let place = attribute(&tag, "file").map(|file| SourceLocation::new(&file, &line));
                case = Some((FailureEntry::test(FailureFamily::Junit, &name).scope(&class), place));
            }
            Ok(Event::Start(tag)) if is_failure(&tag) => {
                inside = true;
                set_message(&mut message, &tag);
            }
            Ok(Event::Empty(tag)) if is_failure(&tag) => set_message(&mut message, &tag),
            Ok(Event::End(tag)) if matches!(tag.name().as_ref(), "failure" | "error") => {
                inside = false;
                text.push('\n');
            }
            Ok(Event::Text(part)) if inside => text.push_str(&part.xml10_content()),
            Ok(Event::CData(part)) if inside => text.push_str(&part.xml10_content()),
            Ok(Event::GeneralRef(reference)) if inside => {
                let named = match &*reference.xml10_content() {
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "amp" => Some('&'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => None,
                };
                text.extend(named.or_else(|| reference.resolve_char_ref().ok().flatten()));
            }
            // Cut off: use what was read so far.
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let (entry, place) = case?;
    let readable = |text: &str| -> Vec<String> {
        text.lines().take(LINES).map(|line| text::clean(line.as_bytes()).into_owned()).collect()
    };
    let place = place
        .or_else(|| SourceLocation::in_trace(text.lines()))
        .or_else(|| SourceLocation::in_trace(message.lines()));
    let (head, mut rest) = (readable(message.trim()), readable(text.trim()));
    // Many writers repeat the message at the top of the text.
    if head.first().is_some_and(|first| rest.first() == Some(first)) {
        rest.drain(..rest.len().min(head.len()));
    }
    let entry = if head.is_empty() { entry.message(rest) } else { entry.message(head).with(rest) };
    Some(entry.at(place))
}

fn is_failure(tag: &BytesStart<'_>) -> bool {
    matches!(tag.name().as_ref(), "failure" | "error")
}

fn set_message(message: &mut String, tag: &BytesStart<'_>) {
    let value = attribute(tag, "message").or_else(|| attribute(tag, "type"));
    if let Some(value) = value
        && message.is_empty()
    {
        *message = value;
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute =
        tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name)?;
    // A line break in an attribute is written as a reference.
    let value = attribute.value.replace("&#10;", "\n").replace("&#xA;", "\n").replace("&#13;", "");
    match quick_xml::escape::unescape(&value) {
        Ok(value) => Some(value.into_owned()),
        Err(_) => Some(value),
    }
}
